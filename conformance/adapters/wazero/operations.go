package main

import (
	"encoding/base64"
	"os"
	"path/filepath"

	"pywasmtok.example/pywasmtok"
)

// others need no tokenizer; operations get the one of the handle.
var others = map[string]func(*server, *request) (object, error){
	"load": (*server).load, "unload": (*server).unload,
	"stream_push":  (*server).streamPush,
	"stream_flush": (*server).streamFlush,
	"stream_close": func(s *server, r *request) (object, error) { return s.forget(r.Stream) },
	"stop_push":    func(s *server, r *request) (object, error) { return s.stopStep(r, r.ID) },
	"stop_flush":   func(s *server, r *request) (object, error) { return s.stopStep(r) },
	"stop_close":   func(s *server, r *request) (object, error) { return s.forget(r.Stop) },
}

var operations = map[string]func(*server, *request, *pywasmtok.Tokenizer) (object, error){
	"info": info, "encode": encode, "encode_batch": encodeBatch, "count": count, "segments": segments,
	"decode": decode, "decode_bytes": decodeBytes, "decode_batch": decodeBatch,
	"token_to_id": tokenToID, "id_to_token": idToToken, "stream_open": streamOpen, "stop_open": stopOpen,
}

func (s *server) load(r *request) (object, error) {
	file, err := os.ReadFile(r.Path)
	if err != nil {
		return nil, err
	}
	options := &pywasmtok.LoadOptions{Pattern: r.Options.Pattern, SpecialTokens: r.Options.SpecialTokens}
	var tokenizer *pywasmtok.Tokenizer
	if folder, name := filepath.Split(r.Path); name == "vocab.json" {
		merges, err := os.ReadFile(filepath.Join(folder, "merges.txt"))
		if err != nil {
			return nil, err
		}
		parts := []pywasmtok.Part{{Name: name, Data: file}, {Name: "merges.txt", Data: merges}}
		tokenizer, err = s.core.NewTokenizerFromParts(s.ctx, parts, options)
		if err != nil {
			return nil, err
		}
	} else if tokenizer, err = s.core.NewTokenizer(s.ctx, file, options); err != nil {
		return nil, err
	}
	info := tokenizer.Info()
	return object{
		"handle": s.keep(tokenizer), "served_by": "core", "format": info.Format, "vocab_size": info.VocabSize,
	}, nil
}

func (s *server) unload(r *request) (object, error) {
	tokenizer, err := find[*pywasmtok.Tokenizer](s, r.Handle)
	if err != nil {
		return nil, err
	}
	delete(s.objects, r.Handle)
	return object{}, tokenizer.Close()
}

func info(_ *server, _ *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	roles := object{}
	for _, role := range tokenizer.Info().Roles {
		roles[role.Name] = object{"token": role.Token, "id": role.ID}
	}
	return object{"vocab_size": tokenizer.Info().VocabSize, "special_tokens": roles}, nil
}

func encode(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	options, err := r.encodeOptions()
	if err != nil {
		return nil, err
	}
	text, err := textOf(r.Input)
	if err != nil {
		return nil, err
	}
	var found *pywasmtok.Encoding
	if r.Pair == nil {
		found, err = tokenizer.Encode(text, options)
	} else {
		var pair string
		if pair, err = textOf(*r.Pair); err == nil {
			found, err = tokenizer.EncodePair(text, pair, options)
		}
	}
	if err != nil {
		return nil, err
	}
	answer := object{"ids": found.IDs}
	for _, wanted := range r.Want {
		switch wanted {
		case "offsets":
			answer["offsets"] = append([][2]uint32{}, found.Offsets...)
		case "tokens":
			answer["tokens"] = append([]string{}, found.Tokens...)
		case "type_ids":
			answer["type_ids"] = found.TypeIDs
		case "attention_mask":
			mask := make([]uint32, len(found.AttentionMask))
			for n, one := range found.AttentionMask {
				mask[n] = uint32(one)
			}
			answer["attention_mask"] = mask
		}
	}
	return answer, nil
}

func encodeBatch(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	options, err := r.encodeOptions()
	if err != nil {
		return nil, err
	}
	texts := []string{}
	for _, one := range r.Inputs {
		text, err := textOf(one)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	ids, err := tokenizer.EncodeBatch(texts, options)
	return object{"ids": ids}, err
}

func count(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	options, err := r.encodeOptions()
	if err != nil {
		return nil, err
	}
	text, err := textOf(r.Input)
	if err != nil {
		return nil, err
	}
	count, err := tokenizer.Count(text, options)
	return object{"count": count}, err
}

func segments(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	options, err := r.encodeOptions()
	if err != nil {
		return nil, err
	}
	found, err := tokenizer.EncodeSegments(r.Segments, options)
	if err != nil {
		return nil, err
	}
	return object{"ids": found.IDs}, nil
}

func decode(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	text, err := tokenizer.Decode(r.IDs, r.decodeOptions())
	return object{"text": text}, err
}

func decodeBytes(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	data, err := tokenizer.DecodeBytes(r.IDs, r.decodeOptions())
	return object{"b64": base64.StdEncoding.EncodeToString(data)}, err
}

func decodeBatch(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	texts, err := tokenizer.DecodeBatch(r.Lists, r.decodeOptions())
	return object{"texts": texts}, err
}

func tokenToID(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	id, known, err := tokenizer.TokenToID(r.Token)
	if !known {
		return object{"id": nil}, err
	}
	return object{"id": id}, err
}

func idToToken(_ *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	token, known, err := tokenizer.IDToToken(r.ID)
	if !known {
		return object{"token": nil}, err
	}
	return object{"token": token}, err
}

func streamOpen(s *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	stream, err := tokenizer.Stream(r.Prompt, r.decodeOptions())
	return object{"stream": s.keep(stream)}, err
}

func (s *server) streamPush(r *request) (object, error) {
	stream, err := find[*pywasmtok.Stream](s, r.Stream)
	if err != nil {
		return nil, err
	}
	text, err := stream.Push(r.IDs...)
	return object{"text": text}, err
}

func (s *server) streamFlush(r *request) (object, error) {
	stream, err := find[*pywasmtok.Stream](s, r.Stream)
	if err != nil {
		return nil, err
	}
	text, err := stream.Flush()
	return object{"text": text}, err
}

func stopOpen(s *server, r *request, tokenizer *pywasmtok.Tokenizer) (object, error) {
	stop, err := tokenizer.Stop(r.Config, r.Prompt, r.decodeOptions())
	return object{"stop": s.keep(stop)}, err
}

func (s *server) stopStep(r *request, ids ...uint32) (object, error) {
	stop, err := find[*pywasmtok.Stop](s, r.Stop)
	if err != nil {
		return nil, err
	}
	step := stop.Flush
	if len(ids) > 0 {
		step = func() (string, error) { return stop.Push(ids...) }
	}
	text, err := step()
	if err != nil {
		return nil, err
	}
	match := stop.Match()
	switch {
	case match == nil && text == "":
		return object{"kind": "held", "text": text}, nil
	case match == nil:
		return object{"kind": "text", "text": text}, nil
	case text == "":
		return object{"kind": "stopped", "text": text, "match": matched(match)}, nil
	}
	return object{"kind": "stopped_with_text", "text": text, "match": matched(match)}, nil
}

func matched(match *pywasmtok.Match) object {
	found := object{
		"kind": "token", "id": match.ID, "visible": match.Visible,
		"token_index": match.TokenIndex, "start": match.Start, "end": match.End,
	}
	if match.Sequence != "" {
		delete(found, "id")
		found["kind"], found["string"] = "string", match.Sequence
	}
	return found
}
