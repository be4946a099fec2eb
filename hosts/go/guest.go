package pywasmtok

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"
)

// guest is an instance with its session: calls, and what is in its memory.
type guest struct {
	ctx       context.Context
	module    api.Module
	functions map[string]api.Function
	session   uint32
	// lost is the error of all calls after a trap or after close.
	lost *Error
}

func newGuest(ctx context.Context, module api.Module) *guest {
	return &guest{ctx: ctx, module: module, functions: map[string]api.Function{}}
}

// close gives the memory back, also while a tokenizer or a stream still refers to the guest.
func (g *guest) close() error {
	if g.module == nil {
		return nil
	}
	err := g.module.Close(g.ctx)
	g.module, g.functions = nil, nil
	if g.lost == nil {
		g.lost = failed(KindHost, "the tokenizer was closed")
	}
	return err
}

// open begins a session; the one before is given back with its buffers.
func (g *guest) open() (err error) {
	if g.session == 0 {
		version, err := g.call("pwt_abi_version")
		if err == nil && version != abiVersion {
			err = failed(KindHost, "the core has ABI %d: this host has %d", version, abiVersion)
		}
		if err != nil {
			return err
		}
	} else if _, err = g.call("pwt_session_free", g.session); err != nil {
		return err
	}
	g.session, err = g.call("pwt_session_new")
	if err == nil && g.session == 0 {
		err = failed(KindOutOfMemory, "no session is left")
	}
	return err
}

// call gives the bits of what the function answers. An error is a trap: the instance is lost.
func (g *guest) call(name string, arguments ...uint32) (uint32, error) {
	if g.lost != nil {
		return 0, g.lost
	}
	function := g.functions[name]
	if function == nil {
		if function = g.module.ExportedFunction(name); function == nil {
			return 0, failed(KindHost, "the core has no function %s", name)
		}
		g.functions[name] = function
	}
	stack := make([]uint64, max(len(arguments), 1))
	for n, argument := range arguments {
		stack[n] = uint64(argument)
	}
	if err := function.CallWithStack(g.ctx, stack); err != nil {
		g.lost = failed(KindTrap, "%s%w", g.panicText(), err)
		return 0, g.lost
	}
	return uint32(stack[0]), nil
}

// panicText is what the engine said before a trap, with a line break; often it said nothing.
func (g *guest) panicText() string {
	var found [2]uint32
	for n, name := range []string{"pwt_panic_ptr", "pwt_panic_len"} {
		function := g.module.ExportedFunction(name)
		if function == nil {
			return ""
		}
		answer, err := function.Call(g.ctx)
		if err != nil {
			return ""
		}
		found[n] = uint32(answer[0])
	}
	view, _ := g.module.Memory().Read(found[0], found[1])
	if len(view) == 0 {
		return ""
	}
	return string(view) + "\n"
}

// number calls a function that answers a number, or a negative one when it failed.
func (g *guest) number(name string, arguments ...uint32) (uint32, error) {
	answer, err := g.call(name, arguments...)
	if err == nil && int32(answer) < 0 {
		err = g.reported()
	}
	return answer, err
}

// json reads the text of a function into a value.
func (g *guest) json(into any, name string, arguments ...uint32) error {
	length, err := g.number(name, arguments...)
	if err == nil {
		err = json.Unmarshal(g.bytes(fieldTextPtr, length), into)
	}
	return err
}

func (g *guest) field(index uint32) uint32 {
	value, _ := g.module.Memory().ReadUint32Le(g.session + 4*index)
	return value
}

func (g *guest) put(parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size > math.MaxInt32 {
		return failed(KindLimitExceeded, "an input of 2 GiB or more")
	}
	if g.lost != nil {
		return g.lost
	}
	if uint32(size) > g.field(fieldInputCap) {
		address, err := g.call("pwt_input", g.session, uint32(size))
		if err == nil && address == 0 {
			err = g.reported()
		}
		if err != nil {
			return err
		}
	}
	at := g.field(fieldInputPtr)
	for _, part := range parts {
		if !g.module.Memory().Write(at, part) {
			return failed(KindInternal, "the core names memory that it does not have")
		}
		at += uint32(len(part))
	}
	return nil
}

// bytes copies what is at a field. Out of bounds is nothing: wazero checks.
func (g *guest) bytes(pointer, length uint32) []byte {
	if length == 0 {
		return []byte{}
	}
	view, _ := g.module.Memory().Read(g.field(pointer), length)
	return append([]byte{}, view...)
}

func (g *guest) numbers(pointer, count uint32) []uint32 {
	data := g.bytes(pointer, 4*count)
	found := make([]uint32, len(data)/4)
	for n := range found {
		found[n] = binary.LittleEndian.Uint32(data[4*n:])
	}
	return found
}

// state copies the state of a stream or of a stop decoder.
func (g *guest) state() []byte { return g.bytes(fieldStatePtr, g.field(fieldStateLen)) }

func (g *guest) reported() error {
	kind, known := errorKinds[g.field(fieldStatus)]
	if !known {
		kind = KindInternal
	}
	found := &Error{
		Kind:    kind,
		Message: string(g.bytes(fieldMessagePtr, g.field(fieldMessageLen))),
		Path:    string(g.bytes(fieldPathPtr, g.field(fieldPathLen))),
		Feature: string(g.bytes(fieldFeaturePtr, g.field(fieldFeatureLen))),
		Offset:  -1,
	}
	if offset := uint64(g.field(fieldErrorOffsetHi))<<32 | uint64(g.field(fieldErrorOffsetLo)); offset != math.MaxUint64 {
		found.Offset = int64(offset)
	}
	return found
}

// jsonOf refuses texts in the value that are no UTF-8, which encoding/json would replace by U+FFFD.
func jsonOf(value any, texts ...string) ([]byte, error) {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return nil, failed(KindInvalidText, "the text is no UTF-8")
		}
	}
	return json.Marshal(value)
}

func littleEndian(ids []uint32) []byte {
	data := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		data = binary.LittleEndian.AppendUint32(data, id)
	}
	return data
}

// lists cuts what a batch gave into one list an item. Appending to a list does not reach the next one.
func lists[T any](flat []T, bounds []uint32) [][]T {
	found := [][]T{}
	for n := 1; n < len(bounds); n++ {
		found = append(found, flat[bounds[n-1]:bounds[n]:bounds[n]])
	}
	return found
}
