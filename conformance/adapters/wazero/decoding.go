package main

import (
	"encoding/base64"

	"pywasmtok.example/pywasmtok"
)

func (s *server) decode(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	text, err := tokenizer.Decode(r.Ids, decodeFlags(r, tokenizer))
	return object{"text": string(text)}, err
}

func (s *server) decodeBytes(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	data, err := tokenizer.Decode(r.Ids, decodeFlags(r, tokenizer)|pywasmtok.DecodeAsBytes)
	return object{"b64": base64.StdEncoding.EncodeToString(data)}, err
}

func (s *server) decodeBatch(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	found, err := tokenizer.DecodeBatch(r.Lists, decodeFlags(r, tokenizer))
	texts := []string{}
	for _, one := range found {
		texts = append(texts, string(one))
	}
	return object{"texts": texts}, err
}

func decodeFlags(r *request, tokenizer loaded) uint32 {
	flags := uint32(0)
	if r.Options.SkipSpecial == nil || *r.Options.SkipSpecial {
		flags |= pywasmtok.DecodeSkipSpecialTokens
	}
	if r.Options.ByteRuns == "eager" {
		flags |= pywasmtok.DecodeEagerByteRuns
	}
	unknown := r.Options.Unknown
	if unknown == "" && tokenizer.info.Format != "tokenizer.json" && tokenizer.info.Format != "vocab+merges" {
		// Of these formats the libraries refuse ids that do not exist.
		unknown = "error"
	}
	switch unknown {
	case "error":
		flags |= pywasmtok.DecodeUnknownIsError
	case "replace":
		flags |= pywasmtok.DecodeUnknownIsReplaced
	}
	return flags
}
