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

type options struct {
	AddSpecial    *bool             `json:"add_special"`
	Special       any               `json:"special"`
	SkipSpecial   *bool             `json:"skip_special"`
	Unknown       pywasmtok.Unknown `json:"unknown"`
	ByteRuns      string            `json:"byte_runs"`
	Fallback      string            `json:"fallback"`
	Pattern       *string           `json:"pattern"`
	SpecialTokens map[string]uint32 `json:"special_tokens"`
}

type request struct {
	Seq      json.RawMessage      `json:"seq"`
	Op       string               `json:"op"`
	Protocol []int                `json:"protocol"`
	Suite    string               `json:"suite"`
	Path     string               `json:"path"`
	Handle   int                  `json:"handle"`
	Stream   int                  `json:"stream"`
	Stop     int                  `json:"stop"`
	Input    input                `json:"input"`
	Pair     *input               `json:"pair"`
	Inputs   []input              `json:"inputs"`
	Segments []pywasmtok.Segment  `json:"segments"`
	IDs      []uint32             `json:"ids"`
	Lists    [][]uint32           `json:"lists"`
	Prompt   []uint32             `json:"prompt"`
	ID       uint32               `json:"id"`
	Token    string               `json:"token"`
	Want     []string             `json:"want"`
	Config   pywasmtok.StopConfig `json:"config"`
	Options  options              `json:"options"`
}

func (r *request) encodeOptions() (*pywasmtok.EncodeOptions, error) {
	found := &pywasmtok.EncodeOptions{
		OmitSpecialTokens: r.Options.AddSpecial != nil && !*r.Options.AddSpecial,
		Details:           len(r.Want) > 0,
	}
	switch special := r.Options.Special.(type) {
	case nil:
		return found, nil
	case string:
		rule, known := map[string]pywasmtok.Special{
			"all": {}, "none": pywasmtok.SpecialNone, "raise": pywasmtok.SpecialRaise,
		}[special]
		if known {
			found.Special = rule
			return found, nil
		}
	case []any:
		names := []string{}
		for _, name := range special {
			names = append(names, fmt.Sprint(name))
		}
		found.Special = pywasmtok.SpecialOnly(names...)
		return found, nil
	}
	return nil, fmt.Errorf("%w: no policy %v", errBadRequest, r.Options.Special)
}

func (r *request) decodeOptions() *pywasmtok.DecodeOptions {
	return &pywasmtok.DecodeOptions{
		KeepSpecialTokens: r.Options.SkipSpecial != nil && !*r.Options.SkipSpecial,
		Unknown:           r.Options.Unknown,
		EagerByteRuns:     r.Options.ByteRuns == "eager",
	}
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
		err = pywasmtok.KindInvalidText
	}
	return string(data), err
}

// codes has the kinds of errors whose code is not invalid_model.
var codes = map[pywasmtok.Kind]string{
	pywasmtok.KindUnsupported: "unsupported", pywasmtok.KindLimitExceeded: "limit_exceeded",
	pywasmtok.KindOutOfMemory: "limit_exceeded", pywasmtok.KindInvalidText: "invalid_text",
	pywasmtok.KindSpecialTokenInText: "invalid_text", pywasmtok.KindInvalidToken: "invalid_token",
	pywasmtok.KindBadArgument: "bad_request", pywasmtok.KindInternal: "internal",
	pywasmtok.KindHost: "internal", pywasmtok.KindTrap: "internal",
}

func describe(err error) object {
	var kind pywasmtok.Kind
	if errors.Is(err, errBadRequest) {
		return object{"code": "bad_request", "message": err.Error()}
	}
	if !errors.As(err, &kind) {
		return object{"code": "internal", "message": err.Error()}
	}
	code, known := codes[kind]
	if !known {
		code = "invalid_model"
	}
	found := object{"code": code, "message": err.Error()}
	var reported *pywasmtok.Error
	if errors.As(err, &reported) {
		found["feature"] = reported.Feature
	}
	return found
}
