// Package pywasmtok runs the core of pywasmtok under wazero: no cgo, no native code.
// Written from docs/abi.md.
//
//	core, err := pywasmtok.Load(ctx, wasm)
//	tokenizer, err := core.Tokenizer(ctx, file, nil)
//	encoding, err := tokenizer.Encode("Hello", pywasmtok.EncodeAddSpecialTokens)
//
// A tokenizer serves one goroutine at a time. What it answers are copies.
package pywasmtok

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

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

// Tokenizer is one instance with one file in it.
type Tokenizer struct {
	ctx             context.Context
	module          api.Module
	functions       map[string]api.Function
	session, handle uint32
}

func (t *Tokenizer) Close() error { return t.module.Close(t.ctx) }

func (t *Tokenizer) load(file, options []byte) error {
	version, err := t.call("pwt_abi_version")
	if err == nil && version != AbiVersion {
		err = errors.New("the core has another ABI than it says")
	}
	if err == nil {
		err = t.open()
	}
	if err == nil {
		err = t.put(file, options)
	}
	if err != nil {
		return err
	}
	if len(options) > 0 {
		t.handle, err = t.call("pwt_load_with", t.session, uint32(len(file)), uint32(len(options)))
	} else {
		t.handle, err = t.call("pwt_load", t.session, uint32(len(file)))
	}
	if err == nil && t.handle == 0 {
		err = t.reported()
	}
	if err != nil {
		return err
	}
	// The file stays in the buffer of its session: a new one begins small.
	return t.open()
}

func (t *Tokenizer) open() (err error) {
	if t.session != 0 {
		if _, err = t.call("pwt_session_free", t.session); err != nil {
			return err
		}
	}
	t.session, err = t.call("pwt_session_new")
	if err == nil && t.session == 0 {
		err = &Error{Kind: "out_of_memory", Message: "no session is left", Offset: -1}
	}
	return err
}

// call answers the bits of what the function answers. An error is a trap: the instance is lost.
func (t *Tokenizer) call(name string, arguments ...uint32) (uint32, error) {
	function := t.functions[name]
	if function == nil {
		if function = t.module.ExportedFunction(name); function == nil {
			return 0, fmt.Errorf("the core has no function %s", name)
		}
		t.functions[name] = function
	}
	stack := make([]uint64, max(len(arguments), 1))
	for n, argument := range arguments {
		stack[n] = uint64(argument)
	}
	if err := function.CallWithStack(t.ctx, stack); err != nil {
		return 0, err
	}
	return uint32(stack[0]), nil
}

// count calls a function that answers a number, or a negative one that says that it failed.
func (t *Tokenizer) count(name string, arguments ...uint32) (uint32, error) {
	answer, err := t.call(name, append([]uint32{t.session, t.handle}, arguments...)...)
	if err == nil && int32(answer) < 0 {
		err = t.reported()
	}
	return answer, err
}

func (t *Tokenizer) field(index uint32) uint32 {
	value, _ := t.module.Memory().ReadUint32Le(t.session + 4*index)
	return value
}

func (t *Tokenizer) put(parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size > math.MaxInt32 {
		return &Error{Kind: "limit_exceeded", Message: "an input of 2 GiB or more", Offset: -1}
	}
	if uint32(size) > t.field(FieldInputCap) {
		address, err := t.call("pwt_input", t.session, uint32(size))
		if err == nil && address == 0 {
			err = t.reported()
		}
		if err != nil {
			return err
		}
	}
	at := t.field(FieldInputPtr)
	for _, part := range parts {
		if !t.module.Memory().Write(at, part) {
			return errors.New("the core speaks of memory that it does not have")
		}
		at += uint32(len(part))
	}
	return nil
}

// bytes copies what lies at a field. Out of bounds is nothing: wazero checks.
func (t *Tokenizer) bytes(pointer, length uint32) []byte {
	if length == 0 {
		return []byte{}
	}
	view, _ := t.module.Memory().Read(t.field(pointer), length)
	return append([]byte{}, view...)
}

func (t *Tokenizer) numbers(pointer, count uint32) []uint32 {
	data := t.bytes(pointer, 4*count)
	found := make([]uint32, len(data)/4)
	for n := range found {
		found[n] = binary.LittleEndian.Uint32(data[4*n:])
	}
	return found
}

func (t *Tokenizer) reported() error {
	kind, known := ErrorKinds[t.field(FieldStatus)]
	if !known {
		kind = "internal"
	}
	found := &Error{
		Kind:    kind,
		Message: string(t.bytes(FieldMessagePtr, t.field(FieldMessageLen))),
		Path:    string(t.bytes(FieldPathPtr, t.field(FieldPathLen))),
		Feature: string(t.bytes(FieldFeaturePtr, t.field(FieldFeatureLen))),
		Offset:  -1,
	}
	if offset := uint64(t.field(FieldErrorOffsetHi))<<32 | uint64(t.field(FieldErrorOffsetLo)); offset != math.MaxUint64 {
		found.Offset = int64(offset)
	}
	return found
}

func text(s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, &Error{Kind: "invalid_text", Message: "the text is no UTF-8", Offset: -1}
	}
	return []byte(s), nil
}

func littleEndian(ids []uint32) []byte {
	data := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		data = binary.LittleEndian.AppendUint32(data, id)
	}
	return data
}
