package pywasmtok

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

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
