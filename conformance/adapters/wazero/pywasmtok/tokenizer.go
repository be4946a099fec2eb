package pywasmtok

import (
	"encoding/binary"
	"encoding/json"
	"slices"
)

// Encoding of one text. Offsets (in characters) and tokens are there with EncodeDetails.
type Encoding struct {
	IDs     []uint32
	Offsets [][2]uint32
	Tokens  []string
}

// Info is a part of what pwt_info says; the rest is in docs/abi.md.
type Info struct {
	Format    string   `json:"format"`
	VocabSize uint32   `json:"vocab_size_with_added"`
	Roles     [][3]any `json:"roles"`
}

func (t *Tokenizer) Info() (info Info, err error) {
	length, err := t.count("pwt_info")
	if err == nil {
		err = json.Unmarshal(t.bytes(FieldTextPtr, length), &info)
	}
	return info, err
}

// Encode takes the flags of docs/abi.md.
func (t *Tokenizer) Encode(s string, flags uint32) (*Encoding, error) {
	return t.encode("pwt_encode", flags, s)
}

func (t *Tokenizer) EncodePair(s, pair string, flags uint32) (*Encoding, error) {
	return t.encode("pwt_encode_pair", flags, s, pair)
}

func (t *Tokenizer) encode(function string, flags uint32, texts ...string) (*Encoding, error) {
	parts, sizes, err := texts8(texts)
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
	found := &Encoding{IDs: t.numbers(FieldIdsPtr, count)}
	if flags&EncodeDetails != 0 {
		pairs := t.numbers(FieldOffsetsPtr, 2*count)
		for n := range found.IDs {
			found.Offsets = append(found.Offsets, [2]uint32{pairs[2*n], pairs[2*n+1]})
		}
		table := t.bytes(FieldTokensPtr, t.field(FieldTokensLen))
		for len(table) > 0 {
			length := 4 + binary.LittleEndian.Uint32(table)
			found.Tokens = append(found.Tokens, string(table[4:length]))
			table = table[length:]
		}
	}
	return found, nil
}

func (t *Tokenizer) EncodeBatch(texts []string, flags uint32) ([][]uint32, error) {
	parts, sizes, err := texts8(texts)
	if err == nil {
		err = t.put(append([][]byte{littleEndian(sizes)}, parts...)...)
	}
	if err != nil {
		return nil, err
	}
	count, err := t.count("pwt_encode_batch", uint32(len(texts)), flags)
	if err != nil {
		return nil, err
	}
	return cut(t.numbers(FieldIdsPtr, count), t.numbers(FieldBoundsPtr, uint32(len(texts)+1))), nil
}

// Decode answers text, or with DecodeAsBytes bytes that may be no UTF-8.
func (t *Tokenizer) Decode(ids []uint32, flags uint32) ([]byte, error) {
	if err := t.put(littleEndian(ids)); err != nil {
		return nil, err
	}
	length, err := t.count("pwt_decode", uint32(len(ids)), flags)
	return t.bytes(FieldTextPtr, length), err
}

func (t *Tokenizer) DecodeBatch(lists [][]uint32, flags uint32) ([][]byte, error) {
	sizes := make([]uint32, 0, len(lists))
	for _, list := range lists {
		sizes = append(sizes, uint32(len(list)))
	}
	if err := t.put(littleEndian(sizes), littleEndian(slices.Concat(lists...))); err != nil {
		return nil, err
	}
	length, err := t.count("pwt_decode_batch", uint32(len(lists)), flags)
	if err != nil {
		return nil, err
	}
	return cut(t.bytes(FieldTextPtr, length), t.numbers(FieldBoundsPtr, uint32(len(lists)+1))), nil
}

// TokenToID answers false for a token that there is not.
func (t *Tokenizer) TokenToID(token string) (uint32, bool, error) {
	data, err := text(token)
	if err == nil {
		err = t.put(data)
	}
	if err != nil {
		return 0, false, err
	}
	return t.found("pwt_token_to_id", uint32(len(data)))
}

func (t *Tokenizer) IDToToken(id uint32) (string, bool, error) {
	length, known, err := t.found("pwt_id_to_token", id)
	if err != nil || !known {
		return "", false, err
	}
	return string(t.bytes(FieldTextPtr, length)), true, nil
}

func (t *Tokenizer) found(function string, argument uint32) (uint32, bool, error) {
	answer, err := t.call(function, t.session, t.handle, argument)
	if err == nil && int32(answer) < 0 {
		if t.field(FieldStatus) != 0 {
			err = t.reported()
		}
		return 0, false, err
	}
	return answer, true, err
}

// Stream is text of ids that come one by one. Copying the value copies the stream.
type Stream struct {
	tokenizer *Tokenizer
	state     []byte
}

func (t *Tokenizer) Stream(prompt []uint32, flags uint32) (*Stream, error) {
	if err := t.put(littleEndian(prompt)); err != nil {
		return nil, err
	}
	if _, err := t.count("pwt_stream_new", uint32(len(prompt)), flags); err != nil {
		return nil, err
	}
	return &Stream{t, t.state()}, nil
}

func (s *Stream) Push(ids ...uint32) (string, error) { return s.step(ids, 0) }
func (s *Stream) Flush() (string, error)             { return s.step(nil, StepFinish) }

func (s *Stream) step(ids []uint32, flags uint32) (string, error) {
	t := s.tokenizer
	if err := t.put(littleEndian(ids), s.state); err != nil {
		return "", err
	}
	length, err := t.count("pwt_stream_step", uint32(len(ids)), uint32(len(s.state)), flags)
	if err != nil {
		return "", err
	}
	s.state = t.state()
	return string(t.bytes(FieldTextPtr, length)), nil
}

// Stop is a stream that ends at a stop.
type Stop struct {
	tokenizer     *Tokenizer
	config, state []byte
	// Report is that of docs/abi.md: its second word says whether something stopped.
	Report []uint32
}

func (t *Tokenizer) Stop(config []byte, prompt []uint32, flags uint32) (*Stop, error) {
	if err := t.put(littleEndian(prompt), config); err != nil {
		return nil, err
	}
	_, err := t.count("pwt_stop_new", uint32(len(prompt)), uint32(len(config)), flags)
	if err != nil {
		return nil, err
	}
	return &Stop{tokenizer: t, config: config, state: t.state()}, nil
}

// Stopped says whether the text has ended.
func (s *Stop) Stopped() bool { return len(s.Report) > 1 && s.Report[1] != 0 }

func (s *Stop) Push(ids ...uint32) (string, error) { return s.step(ids, 0) }
func (s *Stop) Flush() (string, error)             { return s.step(nil, StepFinish) }

func (s *Stop) step(ids []uint32, flags uint32) (string, error) {
	t := s.tokenizer
	if err := t.put(littleEndian(ids), s.config, s.state); err != nil {
		return "", err
	}
	sizes := []uint32{uint32(len(ids)), uint32(len(s.config)), uint32(len(s.state)), flags}
	length, err := t.count("pwt_stop_step", sizes...)
	if err != nil {
		return "", err
	}
	said := string(t.bytes(FieldTextPtr, length))
	s.Report = t.numbers(FieldBoundsPtr, t.field(FieldBoundsLen))
	s.state = t.state()
	return said, nil
}

func (t *Tokenizer) state() []byte { return t.bytes(FieldStatePtr, t.field(FieldStateLen)) }

func texts8(texts []string) (parts [][]byte, sizes []uint32, err error) {
	for _, one := range texts {
		data, err := text(one)
		if err != nil {
			return nil, nil, err
		}
		parts, sizes = append(parts, data), append(sizes, uint32(len(data)))
	}
	return parts, sizes, nil
}

func cut[T any](flat []T, bounds []uint32) [][]T {
	found := make([][]T, 0, len(bounds)-1)
	for n := range len(bounds) - 1 {
		found = append(found, flat[bounds[n]:bounds[n+1]])
	}
	return found
}
