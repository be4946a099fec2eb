// Package pywasmtok encodes text to the ids of a language model and back, with the core of pywasmtok
// under wazero: no cgo, no native code. A Core is one compiled build of the core; a Tokenizer is one
// file, loaded in an instance of its own. Nothing that a call returns refers to the instance's memory.
package pywasmtok

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tetratelabs/wazero"
)

// Core is compiled once and makes any number of tokenizers, from any goroutine.
type Core struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	version  string
}

// NewCore compiles a build of the core that imports nothing: portable.wasm, or baseline.wasm, which
// needs no SIMD.
func NewCore(ctx context.Context, wasm []byte) (*Core, error) {
	config := wazero.NewRuntimeConfig().WithCustomSections(true).WithCloseOnContextDone(true)
	runtime := wazero.NewRuntimeWithConfig(ctx, config)
	compiled, err := runtime.CompileModule(ctx, wasm)
	if err != nil {
		return nil, errors.Join(failed(KindHost, "the core does not compile: %w", err), runtime.Close(ctx))
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
	_, loads := compiled.ExportedFunctions()["pwt_load_with"]
	switch {
	case err != nil:
		err = failed(KindHost, "the module does not say which core it is: %w", err)
	case !loads:
		err = failed(KindHost, "this is no core of pywasmtok")
	case build.ABI != abiVersion:
		err = failed(KindHost, "a core with ABI %d: this host has %d", build.ABI, abiVersion)
	}
	if err != nil {
		return nil, errors.Join(err, runtime.Close(ctx))
	}
	return &Core{runtime, compiled, build.Version}, nil
}

// Version returns the version of pywasmtok that the core was built from.
func (c *Core) Version() string { return c.version }

// Close ends the core and all its tokenizers.
func (c *Core) Close(ctx context.Context) error { return c.runtime.Close(ctx) }

// Part is one of several files that are a tokenizer together: vocab.json and merges.txt.
type Part struct {
	Name string
	Data []byte
}

// LoadOptions are settings that a file may need; docs/abi.md describes them.
type LoadOptions struct {
	// Pattern cuts text into pieces, for rank files and for a vocab.json with its merges.txt.
	Pattern *string `json:"pattern,omitempty"`
	// SpecialTokens of the same files, with their ids.
	SpecialTokens map[string]uint32 `json:"special_tokens,omitempty"`
	// Encoding names a known pattern with its special tokens, such as "cl100k_base".
	Encoding string `json:"encoding,omitempty"`
	// GGUFCompat is "llama.cpp", the default, or "hf".
	GGUFCompat string `json:"gguf_compat,omitempty"`
	// AnyLength leaves out the truncation and the padding that the file states.
	AnyLength bool `json:"any_length,omitempty"`
}

// NewTokenizer loads the bytes of a file; its format is recognized. Options may be nil. The context
// holds for the life of the tokenizer: when it is done, a call that runs ends with a trap.
func (c *Core) NewTokenizer(ctx context.Context, file []byte, options *LoadOptions) (*Tokenizer, error) {
	return c.load(ctx, [][]byte{file}, nil, options)
}

// NewTokenizerFromParts loads files that are a tokenizer only together, in any order.
func (c *Core) NewTokenizerFromParts(ctx context.Context, parts []Part, options *LoadOptions) (*Tokenizer, error) {
	var files [][]byte
	var sizes [][2]any
	for _, part := range parts {
		files, sizes = append(files, part.Data), append(sizes, [2]any{part.Name, len(part.Data)})
	}
	return c.load(ctx, files, sizes, options)
}

func (c *Core) load(ctx context.Context, files [][]byte, sizes [][2]any, options *LoadOptions) (*Tokenizer, error) {
	if options == nil {
		options = &LoadOptions{}
	}
	texts := slices.AppendSeq([]string{options.Encoding, options.GGUFCompat}, maps.Keys(options.SpecialTokens))
	if options.Pattern != nil {
		texts = append(texts, *options.Pattern)
	}
	for _, part := range sizes {
		texts = append(texts, part[0].(string))
	}
	said, err := jsonOf(struct {
		Parts [][2]any `json:"parts,omitempty"`
		*LoadOptions
	}{sizes, options}, texts...)
	if err != nil {
		return nil, err
	}
	g, err := c.guest(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{guest: g}
	if err = t.load(files, said); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return t, nil
}

// Detected is what a file is.
type Detected struct {
	Format string `json:"format"`
	Reason string `json:"reason"`
}

// Detect says what a file is; its first 64 KiB are enough.
func (c *Core) Detect(ctx context.Context, startOfFile []byte) (found Detected, err error) {
	g, err := c.guest(ctx)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err = g.put(startOfFile); err == nil {
		err = g.json(&found, "pwt_detect", g.session, uint32(len(startOfFile)))
	}
	return found, err
}

func (c *Core) guest(ctx context.Context) (*guest, error) {
	module, err := c.runtime.InstantiateModule(ctx, c.compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, failed(KindHost, "no instance of the core: %w", err)
	}
	g := newGuest(ctx, module)
	if err = g.open(); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func failed(kind Kind, format string, values ...any) *Error {
	err := fmt.Errorf(format, values...)
	return &Error{Kind: kind, Message: err.Error(), Offset: -1, cause: errors.Unwrap(err)}
}
