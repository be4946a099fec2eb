package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func (s *server) load(r *request) (object, error) {
	file, err := os.ReadFile(r.Path)
	if err != nil {
		return nil, err
	}
	said := object{}
	if r.Options.Pattern != nil {
		said["pattern"] = *r.Options.Pattern
	}
	if r.Options.SpecialTokens != nil {
		said["special_tokens"] = r.Options.SpecialTokens
	}
	if folder, name := filepath.Split(r.Path); name == "vocab.json" {
		merges, err := os.ReadFile(filepath.Join(folder, "merges.txt"))
		if err != nil {
			return nil, err
		}
		said["parts"] = [][2]any{{"vocab.json", len(file)}, {"merges.txt", len(merges)}}
		file = append(file, merges...)
	}
	var chosen []byte
	if len(said) > 0 {
		if chosen, err = json.Marshal(said); err != nil {
			return nil, err
		}
	}
	tokenizer, err := s.core.Tokenizer(s.ctx, file, chosen)
	if err != nil {
		return nil, err
	}
	info, err := tokenizer.Info()
	if err != nil {
		return nil, err
	}
	return object{
		"handle": s.keep(loaded{tokenizer, info}), "served_by": "core", "format": info.Format,
		"vocab_size": info.VocabSize,
	}, nil
}

func (s *server) unload(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	delete(s.objects, r.Handle)
	return object{}, tokenizer.Close()
}

func (s *server) info(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	roles := object{}
	for _, role := range tokenizer.info.Roles {
		roles[fmt.Sprint(role[0])] = object{"token": role[1], "id": role[2]}
	}
	return object{"vocab_size": tokenizer.info.VocabSize, "special_tokens": roles}, err
}

func (s *server) tokenToID(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	id, known, err := tokenizer.TokenToID(r.Token)
	if !known {
		return object{"id": nil}, err
	}
	return object{"id": id}, err
}

func (s *server) idToToken(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	token, known, err := tokenizer.IDToToken(r.ID)
	if !known {
		return object{"token": nil}, err
	}
	return object{"token": token}, err
}
