// The adapter: requests on standard input, answers on standard output.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"pywasmtok.example/pywasmtok"
)

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
	"count": (*server).count, "segments": (*server).segments,
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

func (s *server) hello() object {
	names := []string{}
	for name := range operations {
		names = append(names, name)
	}
	return object{
		"protocol": 1, "implementation": s.about, "ops": names,
		"formats": []string{"tokenizer.json", "tiktoken", "tekken", "sentencepiece", "gguf", "rwkv", "vocab+merges"},
		"features": []string{
			"offsets:char", "tokens", "type_ids", "attention_mask", "pair", "special:none", "special:raise", "special:set",
			"unknown:skip", "unknown:error", "unknown:replace", "byte_runs:eager", "stop:match", "any_id", "detect",
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
