package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"pywasmtok.example/pywasmtok"
)

type object = map[string]any

type input struct {
	Text *string `json:"text"`
	B64  *string `json:"b64"`
}

type segment struct {
	Text    string `json:"text"`
	Trusted bool   `json:"trusted"`
}

type options struct {
	AddSpecial    *bool           `json:"add_special"`
	Special       any             `json:"special"`
	SkipSpecial   *bool           `json:"skip_special"`
	Unknown       string          `json:"unknown"`
	ByteRuns      string          `json:"byte_runs"`
	Pattern       *string         `json:"pattern"`
	SpecialTokens json.RawMessage `json:"special_tokens"`
}

type request struct {
	Seq     json.RawMessage `json:"seq"`
	Op      string          `json:"op"`
	Path    string          `json:"path"`
	Handle  int             `json:"handle"`
	Stream  int             `json:"stream"`
	Stop    int             `json:"stop"`
	Input   input           `json:"input"`
	Pair    *input          `json:"pair"`
	Inputs  []input         `json:"inputs"`
	Parts   []segment       `json:"segments"`
	Ids     []uint32        `json:"ids"`
	Lists   [][]uint32      `json:"lists"`
	Prompt  []uint32        `json:"prompt"`
	ID      uint32          `json:"id"`
	Token   string          `json:"token"`
	Want    []string        `json:"want"`
	Config  json.RawMessage `json:"config"`
	Options options         `json:"options"`
}

func textOf(in input) (string, error) {
	if in.Text != nil {
		return *in.Text, nil
	}
	if in.B64 == nil {
		return "", fmt.Errorf("%w: no input", errBadRequest)
	}
	data, err := base64.StdEncoding.DecodeString(*in.B64)
	if err == nil && !utf8.Valid(data) {
		err = &pywasmtok.Error{Kind: "invalid_text", Message: "the bytes are no UTF-8"}
	}
	return string(data), err
}

func textsOf(inputs []input) (texts []string, err error) {
	for _, one := range inputs {
		text, err := textOf(one)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

var codes = map[string]string{
	"unsupported": "unsupported", "limit_exceeded": "limit_exceeded", "out_of_memory": "limit_exceeded",
	"invalid_text": "invalid_text", "invalid_token": "invalid_token", "bad_argument": "bad_request",
	"special_token_in_text": "invalid_text", "internal": "internal",
}

func describe(err error) object {
	var reported *pywasmtok.Error
	switch {
	case errors.Is(err, errBadRequest):
		return object{"code": "bad_request", "message": err.Error()}
	case errors.As(err, &reported):
		code, known := codes[reported.Kind]
		if !known {
			code = "invalid_model"
		}
		return object{"code": code, "message": reported.Message, "feature": reported.Feature}
	}
	return object{"code": "internal", "message": err.Error()}
}
