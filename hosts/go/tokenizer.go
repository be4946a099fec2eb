package pywasmtok

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tetratelabs/wazero/api"
)

// Tokenizer is one instance with one file in it.
type Tokenizer struct {
	ctx             context.Context
	module          api.Module
	functions       map[string]api.Function
	session, handle uint32
}

func (t *Tokenizer) Close() error { return t.module.Close(t.ctx) }

func (t *Tokenizer) load(file, options []byte) error {
	version, err := t.call("pwt_abi_version")
	if err == nil && version != AbiVersion {
		err = errors.New("the core has another ABI than it says")
	}
	if err == nil {
		err = t.open()
	}
	if err == nil {
		err = t.put(file, options)
	}
	if err != nil {
		return err
	}
	if len(options) > 0 {
		t.handle, err = t.call("pwt_load_with", t.session, uint32(len(file)), uint32(len(options)))
	} else {
		t.handle, err = t.call("pwt_load", t.session, uint32(len(file)))
	}
	if err == nil && t.handle == 0 {
		err = t.reported()
	}
	if err != nil {
		return err
	}
	// The file stays in the buffer of its session: a new one begins small.
	return t.open()
}

func (t *Tokenizer) open() (err error) {
	if t.session != 0 {
		if _, err = t.call("pwt_session_free", t.session); err != nil {
			return err
		}
	}
	t.session, err = t.call("pwt_session_new")
	if err == nil && t.session == 0 {
		err = &Error{Kind: "out_of_memory", Message: "no session is left", Offset: -1}
	}
	return err
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
