package main

import (
	"fmt"
	"math"

	"pywasmtok.example/pywasmtok"
)

func (s *server) encode(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	policy, flags, err := s.policy(r, tokenizer)
	if err != nil {
		return nil, err
	}
	inputs := []input{r.Input}
	if r.Pair != nil {
		inputs = append(inputs, *r.Pair)
	}
	texts, err := textsOf(inputs)
	if err != nil {
		return nil, err
	}
	var encoding *pywasmtok.Encoding
	switch {
	case policy != nil:
		policy.Pair = len(texts) == 2
		encoding, err = tokenizer.EncodeWith(*policy, flags, texts...)
	case len(texts) == 2:
		encoding, err = tokenizer.EncodePair(texts[0], texts[1], flags)
	default:
		encoding, err = tokenizer.Encode(texts[0], flags)
	}
	if err != nil {
		return nil, err
	}
	answer := object{"ids": encoding.IDs}
	for _, wanted := range r.Want {
		switch wanted {
		case "offsets":
			answer["offsets"] = append([][2]uint32{}, encoding.Offsets...)
		case "tokens":
			answer["tokens"] = append([]string{}, encoding.Tokens...)
		case "type_ids":
			answer["type_ids"] = append([]uint32{}, encoding.TypeIDs...)
		case "attention_mask":
			mask := make([]uint32, len(encoding.AttentionMask))
			for n, one := range encoding.AttentionMask {
				mask[n] = uint32(one)
			}
			answer["attention_mask"] = mask
		}
	}
	return answer, nil
}

func (s *server) encodeBatch(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	policy, flags, err := s.policy(r, tokenizer)
	if err != nil {
		return nil, err
	}
	texts, err := textsOf(r.Inputs)
	if err != nil {
		return nil, err
	}
	ids, err := tokenizer.EncodeBatch(texts, policy, flags)
	return object{"ids": ids}, err
}

func (s *server) count(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	policy, flags, err := s.policy(r, tokenizer)
	if err != nil {
		return nil, err
	}
	text, err := textOf(r.Input)
	if err != nil {
		return nil, err
	}
	if policy != nil {
		encoding, err := tokenizer.EncodeWith(*policy, flags, text)
		if err != nil {
			return nil, err
		}
		return object{"count": len(encoding.IDs)}, nil
	}
	count, err := tokenizer.Count(text, flags, math.MaxUint32)
	return object{"count": count}, err
}

func (s *server) segments(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	texts, trusted := make([]string, len(r.Parts)), make([]bool, len(r.Parts))
	for n, part := range r.Parts {
		texts[n], trusted[n] = part.Text, part.Trusted
	}
	// Trust says what special tokens are; there is no policy beside it.
	encoding, err := tokenizer.EncodeWith(pywasmtok.Policy{Trusted: trusted}, encodeFlags(r), texts...)
	if err != nil {
		return nil, err
	}
	return object{"ids": encoding.IDs}, nil
}

// policy answers nil where flags say all.
func (s *server) policy(r *request, tokenizer loaded) (*pywasmtok.Policy, uint32, error) {
	flags := encodeFlags(r)
	switch special := r.Options.Special.(type) {
	case nil:
		return nil, flags, nil
	case string:
		switch special {
		case "all":
			return nil, flags, nil
		case "none":
			return nil, flags | pywasmtok.EncodeSpecialIsText, nil
		case "raise":
			return &pywasmtok.Policy{Special: special}, flags, nil
		}
	case []any:
		allowed := make([]uint32, len(special))
		for n, name := range special {
			id, known, err := tokenizer.TokenToID(fmt.Sprint(name))
			if err == nil && !known {
				err = fmt.Errorf("%w: no token %v", errBadRequest, name)
			}
			if err != nil {
				return nil, 0, err
			}
			allowed[n] = id
		}
		return &pywasmtok.Policy{Special: pywasmtok.Allow{IDs: allowed}}, flags, nil
	}
	return nil, 0, fmt.Errorf("%w: no policy %v", errBadRequest, r.Options.Special)
}

func encodeFlags(r *request) uint32 {
	flags := uint32(0)
	if r.Options.AddSpecial == nil || *r.Options.AddSpecial {
		flags |= pywasmtok.EncodeAddSpecialTokens
	}
	if len(r.Want) > 0 {
		flags |= pywasmtok.EncodeDetails
	}
	return flags
}
