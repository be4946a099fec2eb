// The adapter: requests on standard input, answers on standard output.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"pywasmtok.example/adapter/pywasmtok"
)

type object = map[string]any

type input struct {
	Text *string `json:"text"`
	B64  *string `json:"b64"`
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
	Ids     []uint32        `json:"ids"`
	Lists   [][]uint32      `json:"lists"`
	Prompt  []uint32        `json:"prompt"`
	ID      uint32          `json:"id"`
	Token   string          `json:"token"`
	Want    []string        `json:"want"`
	Config  json.RawMessage `json:"config"`
	Options options         `json:"options"`
}

type loaded struct {
	*pywasmtok.Tokenizer
	info pywasmtok.Info
}

type server struct {
	ctx     context.Context
	core    *pywasmtok.Core
	about   object
	objects map[int]any
	last    int
}

var operations = map[string]func(*server, *request) (object, error){
	"load": (*server).load, "unload": (*server).unload, "info": (*server).info,
	"encode": (*server).encode, "encode_batch": (*server).encodeBatch,
	"decode": (*server).decode, "decode_bytes": (*server).decodeBytes, "decode_batch": (*server).decodeBatch,
	"token_to_id": (*server).tokenToID, "id_to_token": (*server).idToToken,
	"stream_open": (*server).streamOpen, "stream_push": (*server).streamPush,
	"stream_flush": (*server).streamFlush, "stream_close": (*server).streamClose,
	"stop_open": (*server).stopOpen, "stop_push": (*server).stopPush,
	"stop_flush": (*server).stopFlush, "stop_close": (*server).stopClose,
}

func main() {
	build := "portable"
	if named := os.Getenv("PYWASMTOK_ADAPTER_BUILD"); named != "" {
		build = named
	}
	folder := filepath.Join("..", "..", "..", "pywasmtok", "core")
	if named := os.Getenv("PYWASMTOK_CORE"); named != "" {
		folder = named
	}
	if err := serve(filepath.Join(folder, build+".wasm"), build); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(path, build string) error {
	ctx := context.Background()
	wasm, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	core, err := pywasmtok.Load(ctx, wasm)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(wasm)
	s := &server{ctx: ctx, core: core, objects: map[int]any{}, about: object{
		"name": "pywasmtok", "version": core.Version, "language": "Go", "host": "wazero " + wazeroVersion(),
		"variant": build, "core_sha256": hex.EncodeToString(digest[:]),
	}}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := out.Encode(s.answer(line)); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

func wazeroVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if strings.HasSuffix(module.Path, "wazero") {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}

var errBadRequest = errors.New("bad request")

func (s *server) answer(line []byte) object {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return object{"seq": r.Seq, "ok": false, "error": object{"code": "bad_request", "message": err.Error()}}
	}
	answer, err := s.done(&r)
	if err != nil {
		return object{"seq": r.Seq, "ok": false, "error": describe(err)}
	}
	answer["seq"], answer["ok"] = r.Seq, true
	return answer
}

func (s *server) done(r *request) (object, error) {
	if r.Op == "hello" {
		return s.hello(), nil
	}
	operation, known := operations[r.Op]
	if !known {
		return nil, fmt.Errorf("%w: no operation %s", errBadRequest, r.Op)
	}
	return operation(s, r)
}

var codes = map[string]string{
	"unsupported": "unsupported", "limit_exceeded": "limit_exceeded", "out_of_memory": "limit_exceeded",
	"invalid_text": "invalid_text", "invalid_token": "invalid_token", "bad_argument": "bad_request",
	"internal": "internal",
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

func (s *server) hello() object {
	names := []string{}
	for name := range operations {
		names = append(names, name)
	}
	return object{
		"protocol": 1, "implementation": s.about, "ops": names,
		"formats": []string{"tokenizer.json", "tiktoken", "tekken", "sentencepiece", "gguf", "rwkv", "vocab+merges"},
		"features": []string{
			"offsets:char", "tokens", "pair", "special:none", "unknown:skip", "unknown:error", "unknown:replace",
			"byte_runs:eager", "stop:match", "any_id", "detect",
		},
	}
}

func (s *server) keep(made any) int {
	s.last++
	s.objects[s.last] = made
	return s.last
}

func find[T any](s *server, number int) (T, error) {
	found, known := s.objects[number].(T)
	if !known {
		return found, fmt.Errorf("%w: nothing has the number %d", errBadRequest, number)
	}
	return found, nil
}

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

func (s *server) encode(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	flags, err := encodeFlags(r)
	if err != nil {
		return nil, err
	}
	text, err := textOf(r.Input)
	if err != nil {
		return nil, err
	}
	var encoding *pywasmtok.Encoding
	if r.Pair == nil {
		encoding, err = tokenizer.Encode(text, flags)
	} else {
		var pair string
		if pair, err = textOf(*r.Pair); err == nil {
			encoding, err = tokenizer.EncodePair(text, pair, flags)
		}
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
		}
	}
	return answer, nil
}

func (s *server) encodeBatch(r *request) (object, error) {
	tokenizer, err := find[loaded](s, r.Handle)
	if err != nil {
		return nil, err
	}
	flags, err := encodeFlags(r)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(r.Inputs))
	for n, one := range r.Inputs {
		if texts[n], err = textOf(one); err != nil {
			return nil, err
		}
	}
	ids, err := tokenizer.EncodeBatch(texts, flags)
	return object{"ids": ids}, err
}

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

func encodeFlags(r *request) (uint32, error) {
	flags := uint32(0)
	if r.Options.AddSpecial == nil || *r.Options.AddSpecial {
		flags |= pywasmtok.EncodeAddSpecialTokens
	}
	if len(r.Want) > 0 {
		flags |= pywasmtok.EncodeDetails
	}
	switch r.Options.Special {
	case nil, "all":
	case "none":
		flags |= pywasmtok.EncodeSpecialIsText
	default:
		return 0, fmt.Errorf("%w: no policy %v", errBadRequest, r.Options.Special)
	}
	return flags, nil
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
