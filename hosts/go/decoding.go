package pywasmtok

import "slices"

// Decode answers text, or with DecodeAsBytes bytes that may be no UTF-8.
func (t *Tokenizer) Decode(ids []uint32, flags uint32) ([]byte, error) {
	if err := t.put(littleEndian(ids)); err != nil {
		return nil, err
	}
	length, err := t.count("pwt_decode", uint32(len(ids)), flags)
	return t.bytes(FieldTextPtr, length), err
}

func (t *Tokenizer) DecodeBatch(lists [][]uint32, flags uint32) ([][]byte, error) {
	sizes := make([]uint32, 0, len(lists))
	for _, list := range lists {
		sizes = append(sizes, uint32(len(list)))
	}
	if err := t.put(littleEndian(sizes), littleEndian(slices.Concat(lists...))); err != nil {
		return nil, err
	}
	length, err := t.count("pwt_decode_batch", uint32(len(lists)), flags)
	if err != nil {
		return nil, err
	}
	return cut(t.bytes(FieldTextPtr, length), t.numbers(FieldBoundsPtr, uint32(len(lists)+1))), nil
}

func cut[T any](flat []T, bounds []uint32) [][]T {
	found := make([][]T, 0, len(bounds)-1)
	for n := range len(bounds) - 1 {
		found = append(found, flat[bounds[n]:bounds[n+1]])
	}
	return found
}
