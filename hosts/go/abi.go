// The numbers of the ABI. Written by tools/build/abi_constants.py: change abi.toml instead.

package pywasmtok

const (
	AbiVersion              = 1
	InputPadding            = 32
	MaxSessions             = 1024
	MaxTokenizers           = 1024
	MaxPanicText            = 2048
	SessionWords            = 26
	FieldStatus             = 0
	FieldErrorOffsetLo      = 1
	FieldErrorOffsetHi      = 2
	FieldMessagePtr         = 3
	FieldMessageLen         = 4
	FieldPathPtr            = 5
	FieldPathLen            = 6
	FieldFeaturePtr         = 7
	FieldFeatureLen         = 8
	FieldInputPtr           = 9
	FieldInputCap           = 10
	FieldIdsPtr             = 11
	FieldIdsLen             = 12
	FieldBoundsPtr          = 13
	FieldBoundsLen          = 14
	FieldOffsetsPtr         = 15
	FieldByteOffsetsPtr     = 16
	FieldTypeIdsPtr         = 17
	FieldSpecialMaskPtr     = 18
	FieldAttentionMaskPtr   = 19
	FieldTokensPtr          = 20
	FieldTokensLen          = 21
	FieldTextPtr            = 22
	FieldTextLen            = 23
	FieldStatePtr           = 24
	FieldStateLen           = 25
	EncodeAddSpecialTokens  = 1
	EncodeDetails           = 2
	EncodeSpecialIsText     = 4
	EncodeContinues         = 32
	EncodeMoreText          = 64
	EncodeKeepEnd           = 128
	DecodeSkipSpecialTokens = 1
	DecodeUnknownIsError    = 2
	DecodeUnknownIsReplaced = 4
	DecodeEagerByteRuns     = 8
	DecodeAsBytes           = 16
	TruncateWhole           = 0
	TruncateExact           = 1
	TruncateInexact         = 2
	TruncateNeedsMore       = 3
	TruncateNoRoom          = 4
	StepFinish              = 1
	VocabWithAddedTokens    = 1
	ErrorEmptyFile          = 1
	ErrorGitLfsPointer      = 2
	ErrorCompressed         = 3
	ErrorNotATokenizer      = 4
	ErrorUnknownFormat      = 5
	ErrorInvalidFile        = 6
	ErrorUnsupported        = 7
	ErrorLimitExceeded      = 8
	ErrorInvalidText        = 9
	ErrorInvalidToken       = 10
	ErrorBadArgument        = 11
	ErrorOutOfMemory        = 12
	ErrorInternal           = 13
	ErrorAmbiguousPattern   = 14
	ErrorNoTokenizerInFile  = 15
	ErrorSpecialTokenInText = 16
	AnswerFailed            = -1
	AnswerBadSession        = -2
)

// ErrorKinds names the numbers of errors.
var ErrorKinds = map[uint32]string{
	1:  "empty_file",
	2:  "git_lfs_pointer",
	3:  "compressed",
	4:  "not_a_tokenizer",
	5:  "unknown_format",
	6:  "invalid_file",
	7:  "unsupported",
	8:  "limit_exceeded",
	9:  "invalid_text",
	10: "invalid_token",
	11: "bad_argument",
	12: "out_of_memory",
	13: "internal",
	14: "ambiguous_pattern",
	15: "no_tokenizer_in_file",
	16: "special_token_in_text",
}
