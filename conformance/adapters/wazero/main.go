// The adapter: requests on standard input, answers on standard output.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"pywasmtok.example/pywasmtok"
)

type server struct {
	ctx     context.Context
	core    *pywasmtok.Core
	about   object
	objects map[int]any
	last    int
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
	core, err := pywasmtok.NewCore(ctx, wasm)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(wasm)
	s := &server{ctx: ctx, core: core, objects: map[int]any{}, about: object{
		"name": "pywasmtok", "version": core.Version(), "language": "Go", "host": "wazero " + wazeroVersion(),
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
	// An option that is not known is refused.
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
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
	if operation, known := others[r.Op]; known {
		return operation(s, r)
	}
	operation, known := operations[r.Op]
	if !known {
		return nil, fmt.Errorf("%w: no operation %s", errBadRequest, r.Op)
	}
	tokenizer, err := find[*pywasmtok.Tokenizer](s, r.Handle)
	if err != nil {
		return nil, err
	}
	return operation(s, r, tokenizer)
}

func (s *server) hello() object {
	names := slices.Concat(slices.Collect(maps.Keys(others)), slices.Collect(maps.Keys(operations)))
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

func (s *server) forget(number int) (object, error) {
	_, err := find[any](s, number)
	delete(s.objects, number)
	return object{}, err
}
