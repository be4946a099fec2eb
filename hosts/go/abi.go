// The numbers of the ABI. Written by tools/build/abi_constants.py: change abi.toml instead.

package pywasmtok

const (
	abiVersion              = 1
	inputPadding            = 32
	maxSessions             = 1024
	maxTokenizers           = 1024
	maxPanicText            = 2048
	sessionWords            = 26
	fieldStatus             = 0
	fieldErrorOffsetLo      = 1
	fieldErrorOffsetHi      = 2
	fieldMessagePtr         = 3
	fieldMessageLen         = 4
	fieldPathPtr            = 5
	fieldPathLen            = 6
	fieldFeaturePtr         = 7
	fieldFeatureLen         = 8
	fieldInputPtr           = 9
	fieldInputCap           = 10
	fieldIdsPtr             = 11
	fieldIdsLen             = 12
	fieldBoundsPtr          = 13
	fieldBoundsLen          = 14
	fieldOffsetsPtr         = 15
	fieldByteOffsetsPtr     = 16
	fieldTypeIdsPtr         = 17
	fieldSpecialMaskPtr     = 18
	fieldAttentionMaskPtr   = 19
	fieldTokensPtr          = 20
	fieldTokensLen          = 21
	fieldTextPtr            = 22
	fieldTextLen            = 23
	fieldStatePtr           = 24
	fieldStateLen           = 25
	encodeAddSpecialTokens  = 1
	encodeDetails           = 2
	encodeSpecialIsText     = 4
	encodeContinues         = 32
	encodeMoreText          = 64
	encodeKeepEnd           = 128
	decodeSkipSpecialTokens = 1
	decodeUnknownIsError    = 2
	decodeUnknownIsReplaced = 4
	decodeEagerByteRuns     = 8
	decodeAsBytes           = 16
	truncateWhole           = 0
	truncateExact           = 1
	truncateInexact         = 2
	truncateNeedsMore       = 3
	truncateNoRoom          = 4
	stepFinish              = 1
	vocabWithAddedTokens    = 1
	errorEmptyFile          = 1
	errorGitLfsPointer      = 2
	errorCompressed         = 3
	errorNotATokenizer      = 4
	errorUnknownFormat      = 5
	errorInvalidFile        = 6
	errorUnsupported        = 7
	errorLimitExceeded      = 8
	errorInvalidText        = 9
	errorInvalidToken       = 10
	errorBadArgument        = 11
	errorOutOfMemory        = 12
	errorInternal           = 13
	errorAmbiguousPattern   = 14
	errorNoTokenizerInFile  = 15
	errorSpecialTokenInText = 16
	answerFailed            = -1
	answerBadSession        = -2
)

// What an error may be; docs/abi.md says what each means.
const (
	KindEmptyFile          Kind = "empty_file"
	KindGitLfsPointer      Kind = "git_lfs_pointer"
	KindCompressed         Kind = "compressed"
	KindNotATokenizer      Kind = "not_a_tokenizer"
	KindUnknownFormat      Kind = "unknown_format"
	KindInvalidFile        Kind = "invalid_file"
	KindUnsupported        Kind = "unsupported"
	KindLimitExceeded      Kind = "limit_exceeded"
	KindInvalidText        Kind = "invalid_text"
	KindInvalidToken       Kind = "invalid_token"
	KindBadArgument        Kind = "bad_argument"
	KindOutOfMemory        Kind = "out_of_memory"
	KindInternal           Kind = "internal"
	KindAmbiguousPattern   Kind = "ambiguous_pattern"
	KindNoTokenizerInFile  Kind = "no_tokenizer_in_file"
	KindSpecialTokenInText Kind = "special_token_in_text"
)

var errorKinds = map[uint32]Kind{
	1:  KindEmptyFile,
	2:  KindGitLfsPointer,
	3:  KindCompressed,
	4:  KindNotATokenizer,
	5:  KindUnknownFormat,
	6:  KindInvalidFile,
	7:  KindUnsupported,
	8:  KindLimitExceeded,
	9:  KindInvalidText,
	10: KindInvalidToken,
	11: KindBadArgument,
	12: KindOutOfMemory,
	13: KindInternal,
	14: KindAmbiguousPattern,
	15: KindNoTokenizerInFile,
	16: KindSpecialTokenInText,
}
