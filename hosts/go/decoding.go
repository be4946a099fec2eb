package pywasmtok

import "slices"

// Unknown says what becomes of an id that does not exist.
type Unknown string

// The zero value of Unknown does what the library of the format does: `tokenizers` leaves such ids
// out, others fail.
const (
	UnknownSkip    Unknown = "skip"
	UnknownError   Unknown = "error"
	UnknownReplace Unknown = "replace"
)

// DecodeOptions may be nil wherever they are taken.
type DecodeOptions struct {
	KeepSpecialTokens bool
	Unknown           Unknown
	// EagerByteRuns is for streams: a character made of byte tokens is given when it is complete,
	// not when the run of byte tokens is.
	EagerByteRuns bool
}

// Decode gives the text of ids.
func (t *Tokenizer) Decode(ids []uint32, options *DecodeOptions) (string, error) {
	data, err := t.decode(ids, options, 0)
	return string(data), err
}

// DecodeBytes gives the bytes of ids, before U+FFFD replaces what is no UTF-8.
func (t *Tokenizer) DecodeBytes(ids []uint32, options *DecodeOptions) ([]byte, error) {
	return t.decode(ids, options, decodeAsBytes)
}

// DecodeBatch gives a text for each list of ids.
func (t *Tokenizer) DecodeBatch(batch [][]uint32, options *DecodeOptions) ([]string, error) {
	flags, err := t.decodeFlags(options)
	if err != nil {
		return nil, err
	}
	sizes := make([]uint32, 0, len(batch))
	for _, list := range batch {
		sizes = append(sizes, uint32(len(list)))
	}
	if err := t.put(littleEndian(sizes), littleEndian(slices.Concat(batch...))); err != nil {
		return nil, err
	}
	length, err := t.count("pwt_decode_batch", uint32(len(batch)), flags)
	if err != nil {
		return nil, err
	}
	texts := []string{}
	for _, data := range lists(t.bytes(fieldTextPtr, length), t.numbers(fieldBoundsPtr, uint32(len(batch)+1))) {
		texts = append(texts, string(data))
	}
	return texts, nil
}

func (t *Tokenizer) decode(ids []uint32, options *DecodeOptions, flags uint32) ([]byte, error) {
	more, err := t.decodeFlags(options)
	if err == nil {
		err = t.put(littleEndian(ids))
	}
	if err != nil {
		return nil, err
	}
	length, err := t.count("pwt_decode", uint32(len(ids)), flags|more)
	if err != nil {
		return nil, err
	}
	return t.bytes(fieldTextPtr, length), nil
}

func (t *Tokenizer) decodeFlags(options *DecodeOptions) (flags uint32, err error) {
	if options == nil {
		options = &DecodeOptions{}
	}
	if !options.KeepSpecialTokens {
		flags |= decodeSkipSpecialTokens
	}
	unknown := options.Unknown
	if unknown == "" && t.info.Format != "tokenizer.json" && t.info.Format != "vocab+merges" {
		unknown = UnknownError
	}
	switch unknown {
	case "", UnknownSkip:
	case UnknownError:
		flags |= decodeUnknownIsError
	case UnknownReplace:
		flags |= decodeUnknownIsReplaced
	default:
		err = failed(KindBadArgument, "DecodeOptions.Unknown is %q; it is skip, error or replace", unknown)
	}
	return flags, err
}

// streamFlags are for streams and stops only: other calls refuse the flag of byte runs.
func (t *Tokenizer) streamFlags(options *DecodeOptions) (uint32, error) {
	flags, err := t.decodeFlags(options)
	if options != nil && options.EagerByteRuns {
		flags |= decodeEagerByteRuns
	}
	return flags, err
}
