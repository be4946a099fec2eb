// Package pywasmtok runs the core of pywasmtok under wazero: no cgo, no native code.
// Written from docs/abi.md.
//
//	core, err := pywasmtok.Load(ctx, wasm)
//	tokenizer, err := core.Tokenizer(ctx, file, nil)
//	encoding, err := tokenizer.Encode("Hello", pywasmtok.EncodeAddSpecialTokens)
//
// A tokenizer serves one goroutine at a time. What it answers are copies. guest.go has the calls and
// the memory, the other files an area each.
package pywasmtok

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Error is what the core reports.
type Error struct {
	Kind, Message, Path, Feature string
	// Offset is a place in the file or the text; -1: none.
	Offset int64
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Kind, e.Message) }

// Core is compiled once and makes any number of tokenizers.
type Core struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	// Version of pywasmtok that the core was built from.
	Version string
}

// Load compiles a core that imports nothing: portable or baseline.
func Load(ctx context.Context, wasm []byte) (*Core, error) {
	config := wazero.NewRuntimeConfig().WithCustomSections(true).WithCloseOnContextDone(true)
	runtime := wazero.NewRuntimeWithConfig(ctx, config)
	compiled, err := runtime.CompileModule(ctx, wasm)
	if err != nil {
		return nil, errors.Join(err, runtime.Close(ctx))
	}
	var build struct {
		ABI     int    `json:"abi"`
		Version string `json:"version"`
	}
	for _, section := range compiled.CustomSections() {
		if section.Name() == "pywasmtok.abi" {
			err = json.Unmarshal(section.Data(), &build)
		}
	}
	if err == nil && build.ABI != AbiVersion {
		err = fmt.Errorf("a core with ABI %d: this host has %d", build.ABI, AbiVersion)
	}
	if err != nil {
		return nil, errors.Join(err, runtime.Close(ctx))
	}
	return &Core{runtime, compiled, build.Version}, nil
}

func (c *Core) Close(ctx context.Context) error { return c.runtime.Close(ctx) }

// Tokenizer reads a file in an instance of its own; options are the JSON of docs/abi.md, or nil.
func (c *Core) Tokenizer(ctx context.Context, file, options []byte) (*Tokenizer, error) {
	module, err := c.runtime.InstantiateModule(ctx, c.compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{ctx: ctx, module: module, functions: map[string]api.Function{}}
	if err = t.load(file, options); err != nil {
		return nil, errors.Join(err, module.Close(ctx))
	}
	return t, nil
}
