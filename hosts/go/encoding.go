package pywasmtok

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
)

// Encoding is the result of one text; all but IDs is there with EncodeOptions.Details only.
type Encoding struct {
	IDs []uint32
	// Offsets are start and end in characters of the text.
	Offsets       [][2]uint32
	TypeIDs       []uint32
	AttentionMask []byte
	Tokens        []string
}

// EncodeOptions may be nil wherever they are taken.
type EncodeOptions struct {
	// OmitSpecialTokens leaves out the tokens that the post-processor adds, such as [CLS].
	OmitSpecialTokens bool
	// Special says which special tokens are found in the text: by default those of the file.
	Special Special
	// Details fills all fields of an Encoding.
	Details bool
	// Limit is for Count, which may stop at the first number above it; 0 counts all.
	Limit uint32
}

// Special says what text may become a special token. The zero value is what the file says.
type Special struct {
	rule  string
	names []string
}

var (
	// SpecialNone makes names of special tokens text like any other.
	SpecialNone = Special{rule: "none"}
	// SpecialRaise refuses a text that has a special token: KindSpecialTokenInText.
	SpecialRaise = Special{rule: "raise"}
)

// SpecialOnly finds these special tokens and no others.
func SpecialOnly(tokens ...string) Special { return Special{"only", tokens} }

// Segment is a part of one text. Special tokens come from trusted parts only.
type Segment struct {
	Text    string
	Trusted bool
}

// Encode gives the ids of a text.
func (t *Tokenizer) Encode(s string, options *EncodeOptions) (*Encoding, error) {
	return t.encode("pwt_encode", options, s)
}

// EncodePair gives the ids of two texts as one input of a model.
func (t *Tokenizer) EncodePair(s, pair string, options *EncodeOptions) (*Encoding, error) {
	return t.encode("pwt_encode_pair", options, s, pair)
}

// EncodeSegments gives the ids of one text; EncodeOptions.Special has no part in it.
func (t *Tokenizer) EncodeSegments(segments []Segment, options *EncodeOptions) (*Encoding, error) {
	texts, trusted := []string{}, []bool{}
	for _, segment := range segments {
		texts, trusted = append(texts, segment.Text), append(trusted, segment.Trusted)
	}
	flags := encodeFlags(options) &^ encodeSpecialIsText
	count, err := t.encodeWith(policy{Trusted: trusted}, flags, texts)
	if err != nil {
		return nil, err
	}
	return t.encoding(count, flags), nil
}

// EncodeBatch gives a list of ids for each text.
func (t *Tokenizer) EncodeBatch(texts []string, options *EncodeOptions) ([][]uint32, error) {
	rule, err := t.policy(options)
	if err != nil {
		return nil, err
	}
	var count uint32
	if rule != nil {
		count, err = t.encodeWith(*rule, encodeFlags(options), texts)
	} else {
		parts, sizes := bytesOf(texts)
		if err = t.put(append([][]byte{littleEndian(sizes)}, parts...)...); err == nil {
			count, err = t.count("pwt_encode_batch", uint32(len(texts)), encodeFlags(options))
		}
	}
	if err != nil {
		return nil, err
	}
	return lists(t.numbers(fieldIdsPtr, count), t.numbers(fieldBoundsPtr, uint32(len(texts)+1))), nil
}

// Count gives the number of ids of a text.
func (t *Tokenizer) Count(s string, options *EncodeOptions) (uint32, error) {
	rule, err := t.policy(options)
	if err != nil {
		return 0, err
	}
	if rule != nil {
		return t.encodeWith(*rule, encodeFlags(options), []string{s})
	}
	limit := uint32(math.MaxUint32)
	if options != nil && options.Limit != 0 {
		limit = options.Limit
	}
	if err = t.put([]byte(s)); err != nil {
		return 0, err
	}
	return t.count("pwt_count", uint32(len(s)), encodeFlags(options), limit)
}

func (t *Tokenizer) encode(function string, options *EncodeOptions, texts ...string) (*Encoding, error) {
	rule, err := t.policy(options)
	if err != nil {
		return nil, err
	}
	flags := encodeFlags(options)
	var count uint32
	if rule != nil {
		rule.Pair = len(texts) == 2
		count, err = t.encodeWith(*rule, flags, texts)
	} else {
		parts, sizes := bytesOf(texts)
		if err = t.put(parts...); err == nil {
			count, err = t.count(function, append(sizes, flags)...)
		}
	}
	if err != nil {
		return nil, err
	}
	return t.encoding(count, flags), nil
}

// policy is the JSON of "What may become a special token" in docs/abi.md.
type policy struct {
	Special any    `json:"special,omitempty"`
	Pair    bool   `json:"pair,omitempty"`
	Trusted []bool `json:"trusted,omitzero"`
}

// policy gives nil where flags say all.
func (t *Tokenizer) policy(options *EncodeOptions) (*policy, error) {
	if options == nil {
		return nil, nil
	}
	switch options.Special.rule {
	case "raise":
		return &policy{Special: "raise"}, nil
	case "only":
		allowed := []uint32{}
		for _, name := range options.Special.names {
			id, known, err := t.TokenToID(name)
			if err == nil && !known {
				err = failed(KindBadArgument, "the tokenizer has no token %q to allow", name)
			}
			if err != nil {
				return nil, err
			}
			allowed = append(allowed, id)
		}
		return &policy{Special: map[string][]uint32{"allow": allowed}}, nil
	}
	return nil, nil
}

func encodeFlags(options *EncodeOptions) uint32 {
	if options == nil {
		return encodeAddSpecialTokens
	}
	flags := uint32(0)
	if !options.OmitSpecialTokens {
		flags |= encodeAddSpecialTokens
	}
	if options.Special.rule == "none" {
		flags |= encodeSpecialIsText
	}
	if options.Details {
		flags |= encodeDetails
	}
	return flags
}

func (t *Tokenizer) encodeWith(rule policy, flags uint32, texts []string) (uint32, error) {
	parts, sizes := bytesOf(texts)
	said, err := json.Marshal(rule)
	if err != nil {
		return 0, err
	}
	if err = t.put(slices.Concat([][]byte{littleEndian(sizes)}, parts, [][]byte{said})...); err != nil {
		return 0, err
	}
	return t.count("pwt_encode_with", uint32(len(texts)), uint32(len(said)), flags)
}

func (t *Tokenizer) encoding(count, flags uint32) *Encoding {
	found := &Encoding{IDs: t.numbers(fieldIdsPtr, count)}
	if flags&encodeDetails != 0 {
		pairs := t.numbers(fieldOffsetsPtr, 2*count)
		for n := range found.IDs {
			found.Offsets = append(found.Offsets, [2]uint32{pairs[2*n], pairs[2*n+1]})
		}
		found.TypeIDs = t.numbers(fieldTypeIdsPtr, count)
		found.AttentionMask = t.bytes(fieldAttentionMaskPtr, count)
		table := t.bytes(fieldTokensPtr, t.field(fieldTokensLen))
		for len(table) > 0 {
			length := 4 + binary.LittleEndian.Uint32(table)
			found.Tokens = append(found.Tokens, string(table[4:length]))
			table = table[length:]
		}
	}
	return found
}

// bytesOf gives texts as they are: the core refuses one that is no UTF-8, and says which and where.
func bytesOf(texts []string) (parts [][]byte, sizes []uint32) {
	for _, text := range texts {
		parts, sizes = append(parts, []byte(text)), append(sizes, uint32(len(text)))
	}
	return parts, sizes
}
