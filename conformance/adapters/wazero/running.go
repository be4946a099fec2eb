package main

import (
	"encoding/json"

	"pywasmtok.example/pywasmtok"
)

func (s *server) streamOpen(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	stream, err := tokenizer.Stream(r.Prompt, decodeFlags(r, tokenizer))
	return object{"stream": s.keep(stream)}, err
}

func (s *server) streamPush(r *request) (object, error) {
	stream, err := find[*pywasmtok.Stream](s, r.Stream)
	if err != nil {
		return nil, err
	}
	text, err := stream.Push(r.Ids...)
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

func (s *server) streamClose(r *request) (object, error) {
	_, err := find[*pywasmtok.Stream](s, r.Stream)
	delete(s.objects, r.Stream)
	return object{}, err
}

type stop struct {
	*pywasmtok.Stop
	config struct {
		Hidden  []string `json:"stop_sequences"`
		Visible []string `json:"visible_stop_sequences"`
	}
}

func (s *server) stopOpen(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	made := &stop{}
	if err = json.Unmarshal(r.Config, &made.config); err != nil {
		return nil, err
	}
	made.Stop, err = tokenizer.Stop(r.Config, r.Prompt, decodeFlags(r, tokenizer))
	return object{"stop": s.keep(made)}, err
}

func (s *server) stopPush(r *request) (object, error) {
	return s.stopStep(r, func(one *stop) (string, error) { return one.Push(r.ID) })
}

func (s *server) stopFlush(r *request) (object, error) {
	return s.stopStep(r, func(one *stop) (string, error) { return one.Flush() })
}

func (s *server) stopStep(r *request, step func(*stop) (string, error)) (object, error) {
	one, err := find[*stop](s, r.Stop)
	if err != nil {
		return nil, err
	}
	answer := object{"kind": "stopped", "text": ""}
	if !one.Stopped() {
		text, err := step(one)
		if err != nil {
			return nil, err
		}
		kind := "text"
		switch {
		case one.Stopped() && text != "":
			kind = "stopped_with_text"
		case one.Stopped():
			kind = "stopped"
		case text == "":
			kind = "held"
		}
		answer = object{"kind": kind, "text": text}
	}
	if one.Stopped() {
		answer["match"] = one.match()
	}
	return answer, nil
}

func (one *stop) match() object {
	report := one.Report
	wide := func(word int) int64 { return int64(uint64(report[word+1])<<32 | uint64(report[word])) }
	visible := report[3] == 1
	found := object{"visible": visible, "token_index": wide(4), "start": wide(6), "end": wide(8)}
	switch {
	case report[1] == 1:
		found["kind"], found["id"] = "token", report[2]
	case visible:
		found["kind"], found["string"] = "string", one.config.Visible[report[2]]
	default:
		found["kind"], found["string"] = "string", one.config.Hidden[report[2]]
	}
	return found
}

func (s *server) stopClose(r *request) (object, error) {
	_, err := find[*stop](s, r.Stop)
	delete(s.objects, r.Stop)
	return object{}, err
}
