package pywasmtok_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pywasmtok.example/pywasmtok"
)

// A word is one token, and [END] a special one that the post-processor adds.
const words = `{
  "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "decoder": null,
  "added_tokens": [{"id": 3, "content": "[END]", "single_word": false, "lstrip": false,
    "rstrip": false, "normalized": false, "special": true}],
  "pre_tokenizer": {"type": "Whitespace"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[END]", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"[END]": {"id": "[END]", "ids": [3], "tokens": ["[END]"]}}},
  "model": {"type": "WordLevel", "vocab": {"?": 0, "hello": 1, "world": 2, "[END]": 3}, "unk_token": "?"}
}`

// The core is compiled once for all tests.
var compiled = sync.OnceValues(func() (*pywasmtok.Core, error) {
	wasm, err := os.ReadFile("../../pywasmtok/core/portable.wasm")
	if err != nil {
		return nil, err
	}
	return pywasmtok.NewCore(context.Background(), wasm)
})

func newCore(t *testing.T) *pywasmtok.Core {
	t.Helper()
	core, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return core
}

func newTokenizer(t *testing.T) *pywasmtok.Tokenizer {
	t.Helper()
	tokenizer, err := newCore(t).NewTokenizer(t.Context(), []byte(words), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tokenizer.Close(); err != nil {
			t.Error(err)
		}
	})
	return tokenizer
}

func same[T comparable](t *testing.T, found T, err error, wanted T) {
	t.Helper()
	if err != nil || found != wanted {
		t.Errorf("got %v, %v; wanted %v", found, err, wanted)
	}
}

func sameIDs(t *testing.T, found []uint32, err error, wanted ...uint32) {
	t.Helper()
	if err != nil || !slices.Equal(found, wanted) {
		t.Errorf("got %v, %v; wanted %v", found, err, wanted)
	}
}

func TestEncode(t *testing.T) {
	tokenizer := newTokenizer(t)
	details, err := tokenizer.Encode("hello  world", &pywasmtok.EncodeOptions{Details: true})
	if err != nil {
		t.Fatal(err)
	}
	sameIDs(t, details.IDs, err, 1, 2, 3)
	if !slices.Equal(details.Tokens, []string{"hello", "world", "[END]"}) || details.Offsets[1] != [2]uint32{7, 12} {
		t.Errorf("got %v", details)
	}
	pair, err := tokenizer.EncodePair("hello", "world", &pywasmtok.EncodeOptions{Details: true})
	if err != nil {
		t.Fatal(err)
	}
	sameIDs(t, pair.TypeIDs, err, 0, 1)
	batch, err := tokenizer.EncodeBatch([]string{"hello", "", "x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameIDs(t, slices.Concat(batch...), err, 1, 3, 3, 0, 3)
	count, err := tokenizer.Count("hello world", nil)
	same(t, count, err, 3)
}

func TestAppendingToOneResultLeavesTheOthers(t *testing.T) {
	tokenizer := newTokenizer(t)
	batch, err := tokenizer.EncodeBatch([]string{"hello", "world", ""}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(batch[0], 9, 9, 9)
	sameIDs(t, slices.Concat(batch...), err, 1, 3, 2, 3, 3)
	info := tokenizer.Info()
	info.JSON[0] = 'x'
	same(t, tokenizer.Info().JSON[0], nil, '{')
}

func TestWhatBecomesASpecialToken(t *testing.T) {
	tokenizer := newTokenizer(t)
	for _, one := range []struct {
		special pywasmtok.Special
		wanted  []uint32
	}{
		{pywasmtok.Special{}, []uint32{1, 3}},
		{pywasmtok.SpecialNone, []uint32{1, 0, 0, 0}},
		{pywasmtok.SpecialOnly("[END]"), []uint32{1, 3}},
		{pywasmtok.SpecialOnly(), []uint32{1, 0, 0, 0}},
	} {
		options := &pywasmtok.EncodeOptions{OmitSpecialTokens: true, Special: one.special}
		found, err := tokenizer.EncodeBatch([]string{"hello [END]"}, options)
		sameIDs(t, slices.Concat(found...), err, one.wanted...)
	}
	_, err := tokenizer.Encode("hello [END]", &pywasmtok.EncodeOptions{Special: pywasmtok.SpecialRaise})
	var reported *pywasmtok.Error
	if !errors.Is(err, pywasmtok.KindSpecialTokenInText) || !errors.As(err, &reported) || reported.Feature != "[END]" {
		t.Errorf("got %v", err)
	}
	segments := []pywasmtok.Segment{{Text: "[END]", Trusted: true}, {Text: "[END]"}}
	found, err := tokenizer.EncodeSegments(segments, &pywasmtok.EncodeOptions{OmitSpecialTokens: true})
	if err != nil {
		t.Fatal(err)
	}
	sameIDs(t, found.IDs, err, 3, 0, 0, 0)
}

func TestDecode(t *testing.T) {
	tokenizer := newTokenizer(t)
	text, err := tokenizer.Decode([]uint32{1, 2, 3}, nil)
	same(t, text, err, "hello world")
	text, err = tokenizer.Decode([]uint32{1, 99, 3}, &pywasmtok.DecodeOptions{KeepSpecialTokens: true})
	same(t, text, err, "hello [END]")
	if _, err = tokenizer.Decode([]uint32{99}, &pywasmtok.DecodeOptions{Unknown: pywasmtok.UnknownError}); !errors.Is(err, pywasmtok.KindInvalidToken) {
		t.Errorf("got %v", err)
	}
	if _, err = tokenizer.Decode([]uint32{1}, &pywasmtok.DecodeOptions{Unknown: "wrong"}); !errors.Is(err, pywasmtok.KindBadArgument) {
		t.Errorf("got %v", err)
	}
	texts, err := tokenizer.DecodeBatch([][]uint32{{1}, {}, {2, 1}}, nil)
	if err != nil || !slices.Equal(texts, []string{"hello", "", "world hello"}) {
		t.Errorf("got %q, %v", texts, err)
	}
	id, known, err := tokenizer.TokenToID("world")
	same(t, id, err, 2)
	same(t, known, err, true)
	_, known, err = tokenizer.IDToToken(99)
	same(t, known, err, false)
}

func TestStreamsAndStops(t *testing.T) {
	tokenizer := newTokenizer(t)
	stream, err := tokenizer.Stream([]uint32{1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Push(2)
	same(t, first, err, " world")
	rest, err := stream.Flush()
	same(t, rest, err, "")

	stop, err := tokenizer.Stop(pywasmtok.StopConfig{StopSequences: []string{" wor"}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if stop.Match() != nil {
		t.Errorf("got %v before the first id", stop.Match())
	}
	text, err := stop.Push(1, 2)
	same(t, text, err, "hello")
	same(t, *stop.Match(), nil, pywasmtok.Match{Sequence: " wor", TokenIndex: 1, Start: 5, End: 9})
	text, err = stop.Push(2)
	same(t, text, err, "")
}

func TestAMatchNamesItsSequenceAfterTheListHasChanged(t *testing.T) {
	tokenizer := newTokenizer(t)
	sequences := []string{"world"}
	stop, err := tokenizer.Stop(pywasmtok.StopConfig{StopSequences: sequences}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	sequences[0] = "other"
	text, err := stop.Push(1, 2)
	same(t, text, err, "hello ")
	same(t, stop.Match().Sequence, nil, "world")
}

func TestByteRunsAreForStreamsOnly(t *testing.T) {
	tokenizer := newTokenizer(t)
	eager := &pywasmtok.DecodeOptions{EagerByteRuns: true}
	text, err := tokenizer.Decode([]uint32{1}, eager)
	same(t, text, err, "hello")
	data, err := tokenizer.DecodeBytes([]uint32{1}, eager)
	same(t, string(data), err, "hello")
	texts, err := tokenizer.DecodeBatch([][]uint32{{1}}, eager)
	same(t, slices.Equal(texts, []string{"hello"}), err, true)
	stream, err := tokenizer.Stream(nil, eager)
	if err != nil {
		t.Fatal(err)
	}
	text, err = stream.Push(1)
	same(t, text, err, "hello")
	stop, err := tokenizer.Stop(pywasmtok.StopConfig{}, nil, eager)
	if err != nil {
		t.Fatal(err)
	}
	text, err = stop.Push(1)
	same(t, text, err, "hello")
}

func TestTextsThatAreNoUTF8AreRefused(t *testing.T) {
	core, tokenizer := newCore(t), newTokenizer(t)
	wrong := "\xe2\x82"
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, pywasmtok.KindInvalidText) {
			t.Errorf("got %v", err)
		}
	}
	for _, config := range []pywasmtok.StopConfig{{StopSequences: []string{wrong}}, {VisibleStopSequences: []string{wrong}}} {
		_, err := tokenizer.Stop(config, nil, nil)
		refused(err)
	}
	for _, options := range []pywasmtok.LoadOptions{
		{Pattern: &wrong}, {SpecialTokens: map[string]uint32{wrong: 5}}, {Encoding: wrong}, {GGUFCompat: wrong},
	} {
		_, err := core.NewTokenizer(t.Context(), []byte(words), &options)
		refused(err)
	}
	_, err := core.NewTokenizerFromParts(t.Context(), []pywasmtok.Part{{Name: wrong, Data: []byte(words)}}, nil)
	refused(err)
	_, err = tokenizer.Encode("hello", &pywasmtok.EncodeOptions{Special: pywasmtok.SpecialOnly(wrong)})
	refused(err)
}

func TestAnErrorSaysWhichTextIsNoUTF8(t *testing.T) {
	tokenizer := newTokenizer(t)
	wrong := "é\xff"
	at := func(err error, path string) {
		t.Helper()
		var found *pywasmtok.Error
		if !errors.As(err, &found) || found.Kind != pywasmtok.KindInvalidText || found.Path != path || found.Offset != 2 {
			t.Errorf("got %#v", err)
		}
	}
	for _, special := range []pywasmtok.Special{{}, pywasmtok.SpecialRaise} {
		options := &pywasmtok.EncodeOptions{Special: special}
		_, err := tokenizer.EncodePair("hello", wrong, options)
		at(err, "texts[1]")
		_, err = tokenizer.EncodeBatch([]string{"hello", wrong}, options)
		at(err, "texts[1]")
	}
	_, err := tokenizer.Encode(wrong, nil)
	at(err, "")
	_, err = tokenizer.Count(wrong, nil)
	at(err, "")
	_, _, err = tokenizer.TokenToID(wrong)
	at(err, "")
	_, err = tokenizer.EncodeSegments([]pywasmtok.Segment{{Text: "hello"}, {Text: wrong}}, nil)
	at(err, "texts[1]")
}

func TestAClosedTokenizerKeepsNoMemoryAndSaysSo(t *testing.T) {
	core := newCore(t)
	heap := func() int64 {
		var found runtime.MemStats
		// What has a finalizer, or lies in a pool, goes with the second collection.
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&found)
		return int64(found.HeapAlloc)
	}
	before := heap()
	closed := []*pywasmtok.Tokenizer{}
	for range 16 {
		tokenizer, err := core.NewTokenizer(t.Context(), []byte(words), nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err = tokenizer.Close(); err != nil {
				t.Fatal(err)
			}
		}
		closed = append(closed, tokenizer)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d tokenizers that were closed keep %d bytes", len(closed), grown)
	}
	_, err := closed[0].Encode("hello", nil)
	_, decoded := closed[0].Decode([]uint32{1}, nil)
	_, _, found := closed[0].IDToToken(1)
	for _, err := range []error{err, decoded, found} {
		if !errors.Is(err, pywasmtok.KindHost) {
			t.Errorf("got %v", err)
		}
	}
}

func TestModulesThatAreNoCore(t *testing.T) {
	for _, name := range []string{"template", "threads"} {
		wasm, err := os.ReadFile("../../pywasmtok/core/" + name + ".wasm")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = pywasmtok.NewCore(t.Context(), wasm); !errors.Is(err, pywasmtok.KindHost) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDetectAndErrors(t *testing.T) {
	core := newCore(t)
	found, err := core.Detect(t.Context(), []byte(words))
	same(t, found.Format, err, "tokenizer.json")
	if _, err = core.Detect(t.Context(), nil); !errors.Is(err, pywasmtok.KindEmptyFile) {
		t.Errorf("got %v", err)
	}
	if _, err = core.NewTokenizer(t.Context(), []byte("<html>"), nil); !errors.Is(err, pywasmtok.KindNotATokenizer) {
		t.Errorf("got %v", err)
	}
	if _, err = pywasmtok.NewCore(t.Context(), []byte("\x00asm\x01\x00\x00\x00")); !errors.Is(err, pywasmtok.KindHost) {
		t.Errorf("got %v", err)
	}
	tokenizer := newTokenizer(t)
	if _, err = tokenizer.Encode("\xff", nil); !errors.Is(err, pywasmtok.KindInvalidText) {
		t.Errorf("got %v", err)
	}
}

// A module of which each load ends in a panic with the text "a defect".
const panics = "AGFzbQEAAAABDAJgAAF/YAN/f38BfwMGBQAAAQAABQMBAAEHXgYGbWVtb3J5AgAPcHd0X2FiaV92ZXJzaW9uAAAPcHd0X3Nl" +
	"c3Npb25fbmV3AAENcHd0X2xvYWRfd2l0aAACDXB3dF9wYW5pY19wdHIAAw1wd3RfcGFuaWNfbGVuAAQKGgUEAEEBCwQAQQgLAwAACwUAQYAB" +
	"CwQAQQgLCxwCAEEsCwgAAQAAABAAAABBgAELCGEgZGVmZWN0ACUNcHl3YXNtdG9rLmFiaXsiYWJpIjoxLCJ2ZXJzaW9uIjoiMCJ9"

func TestATrapHasTheWordsOfTheEngine(t *testing.T) {
	wasm, err := base64.StdEncoding.DecodeString(panics)
	if err != nil {
		t.Fatal(err)
	}
	core, err := pywasmtok.NewCore(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close(t.Context())
	_, err = core.NewTokenizer(t.Context(), []byte(words), nil)
	if !errors.Is(err, pywasmtok.KindTrap) || !strings.Contains(err.Error(), "a defect") {
		t.Errorf("got %v", err)
	}
}

func TestACallThatEndsWithTheContextLosesTheTokenizer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tokenizer, err := newCore(t).NewTokenizer(ctx, []byte(words), nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 2 {
		if _, err = tokenizer.Encode("hello", nil); !errors.Is(err, pywasmtok.KindTrap) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}
