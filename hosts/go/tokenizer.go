package pywasmtok

import (
	"encoding/json"
	"slices"
)

// Tokenizer is one file in one instance. It serves one goroutine at a time.
type Tokenizer struct {
	*guest
	handle uint32
	info   Info
}

// Info describes a tokenizer.
type Info struct {
	Format string `json:"format"`
	// VocabSize counts added tokens too.
	VocabSize uint32 `json:"vocab_size_with_added"`
	Roles     []Role `json:"roles"`
	// JSON is everything that the core says, as docs/abi.md describes it.
	JSON json.RawMessage `json:"-"`
}

// Role is a token with a part to play, such as "unk".
type Role struct {
	Name, Token string
	ID          uint32
}

// UnmarshalJSON reads a list of three.
func (r *Role) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&r.Name, &r.Token, &r.ID})
}

func (t *Tokenizer) load(files [][]byte, options []byte) error {
	size := 0
	for _, file := range files {
		size += len(file)
	}
	err := t.put(append(files, options)...)
	if err == nil {
		t.handle, err = t.call("pwt_load_with", t.session, uint32(size), uint32(len(options)))
	}
	if err == nil && t.handle == 0 {
		err = t.reported()
	}
	if err == nil {
		// The file stays in the buffer of its session: a new one begins small.
		err = t.open()
	}
	if err == nil {
		err = t.json(&t.info.JSON, "pwt_info", t.session, t.handle)
	}
	if err == nil {
		err = json.Unmarshal(t.info.JSON, &t.info)
	}
	return err
}

// Close gives the memory of the tokenizer back. All further calls fail with KindHost.
func (t *Tokenizer) Close() error { return t.close() }

// Info describes the tokenizer.
func (t *Tokenizer) Info() Info {
	found := t.info
	found.Roles, found.JSON = slices.Clone(found.Roles), slices.Clone(found.JSON)
	return found
}

// TokenToID gives false for a token that does not exist.
func (t *Tokenizer) TokenToID(token string) (uint32, bool, error) {
	if err := t.put([]byte(token)); err != nil {
		return 0, false, err
	}
	return t.found("pwt_token_to_id", uint32(len(token)))
}

// IDToToken gives false for an id that does not exist.
func (t *Tokenizer) IDToToken(id uint32) (string, bool, error) {
	length, known, err := t.found("pwt_id_to_token", id)
	if err != nil || !known {
		return "", false, err
	}
	return string(t.bytes(fieldTextPtr, length)), true, nil
}

func (t *Tokenizer) found(function string, argument uint32) (uint32, bool, error) {
	answer, err := t.call(function, t.session, t.handle, argument)
	if err == nil && int32(answer) < 0 {
		if t.field(fieldStatus) != 0 {
			err = t.reported()
		}
		return 0, false, err
	}
	return answer, true, err
}

// count calls a function of the tokenizer that answers a number.
func (t *Tokenizer) count(name string, arguments ...uint32) (uint32, error) {
	return t.number(name, append([]uint32{t.session, t.handle}, arguments...)...)
}
