package pywasmtok

import (
	"encoding/binary"
	"encoding/json"
	"slices"
)

// Encoding of one text. Everything but the ids is there with EncodeDetails; offsets are in characters.
type Encoding struct {
	IDs           []uint32
	Offsets       [][2]uint32
	TypeIDs       []uint32
	AttentionMask []byte
	Tokens        []string
}

// Policy says what may become a special token: `special` "raise" or Allow, or which segments are
// trusted. See "What may become a special token" in docs/abi.md.
type Policy struct {
	Special any    `json:"special,omitempty"`
	Pair    bool   `json:"pair,omitempty"`
	Trusted []bool `json:"trusted,omitzero"`
}

// Allow is a policy's Special: only these ids.
type Allow struct {
	IDs []uint32 `json:"allow"`
}

// Encode takes the flags of docs/abi.md.
func (t *Tokenizer) Encode(s string, flags uint32) (*Encoding, error) {
	return t.encode("pwt_encode", flags, s)
}

func (t *Tokenizer) EncodePair(s, pair string, flags uint32) (*Encoding, error) {
	return t.encode("pwt_encode_pair", flags, s, pair)
}

// EncodeWith takes a policy, which says what may become a special token, and whether two texts are
// a pair or any number the segments of one.
func (t *Tokenizer) EncodeWith(policy Policy, flags uint32, texts ...string) (*Encoding, error) {
	count, err := t.encodeWith(policy, flags, texts)
	if err != nil {
		return nil, err
	}
	return t.encoding(count, flags), nil
}

// Count answers how many ids a text has; it may stop at the first number above the limit.
func (t *Tokenizer) Count(s string, flags, limit uint32) (uint32, error) {
	data, err := text(s)
	if err == nil {
		err = t.put(data)
	}
	if err != nil {
		return 0, err
	}
	return t.count("pwt_count", uint32(len(data)), flags, limit)
}

// EncodeBatch answers a list of ids for each text. Without a policy, flags say all.
func (t *Tokenizer) EncodeBatch(texts []string, policy *Policy, flags uint32) ([][]uint32, error) {
	count, err := uint32(0), error(nil)
	if policy != nil {
		count, err = t.encodeWith(*policy, flags, texts)
	} else {
		var parts [][]byte
		var sizes []uint32
		if parts, sizes, err = utf8s(texts); err == nil {
			err = t.put(append([][]byte{littleEndian(sizes)}, parts...)...)
		}
		if err == nil {
			count, err = t.count("pwt_encode_batch", uint32(len(texts)), flags)
		}
	}
	if err != nil {
		return nil, err
	}
	return cut(t.numbers(FieldIdsPtr, count), t.numbers(FieldBoundsPtr, uint32(len(texts)+1))), nil
}

func (t *Tokenizer) encode(function string, flags uint32, texts ...string) (*Encoding, error) {
	parts, sizes, err := utf8s(texts)
	if err == nil {
		err = t.put(parts...)
	}
	if err != nil {
		return nil, err
	}
	count, err := t.count(function, append(sizes, flags)...)
	if err != nil {
		return nil, err
	}
	return t.encoding(count, flags), nil
}

func (t *Tokenizer) encodeWith(policy Policy, flags uint32, texts []string) (uint32, error) {
	parts, sizes, err := utf8s(texts)
	if err != nil {
		return 0, err
	}
	said, err := json.Marshal(policy)
	if err != nil {
		return 0, err
	}
	if err = t.put(slices.Concat([][]byte{littleEndian(sizes)}, parts, [][]byte{said})...); err != nil {
		return 0, err
	}
	return t.count("pwt_encode_with", uint32(len(texts)), uint32(len(said)), flags)
}

func (t *Tokenizer) encoding(count, flags uint32) *Encoding {
	found := &Encoding{IDs: t.numbers(FieldIdsPtr, count)}
	if flags&EncodeDetails != 0 {
		pairs := t.numbers(FieldOffsetsPtr, 2*count)
		for n := range found.IDs {
			found.Offsets = append(found.Offsets, [2]uint32{pairs[2*n], pairs[2*n+1]})
		}
		found.TypeIDs = t.numbers(FieldTypeIdsPtr, count)
		found.AttentionMask = t.bytes(FieldAttentionMaskPtr, count)
		table := t.bytes(FieldTokensPtr, t.field(FieldTokensLen))
		for len(table) > 0 {
			length := 4 + binary.LittleEndian.Uint32(table)
			found.Tokens = append(found.Tokens, string(table[4:length]))
			table = table[length:]
		}
	}
	return found
}

func utf8s(texts []string) (parts [][]byte, sizes []uint32, err error) {
	for _, one := range texts {
		data, err := text(one)
		if err != nil {
			return nil, nil, err
		}
		parts, sizes = append(parts, data), append(sizes, uint32(len(data)))
	}
	return parts, sizes, nil
}
