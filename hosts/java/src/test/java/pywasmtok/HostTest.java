package pywasmtok;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import pywasmtok.DecodeOptions.Unknown;
import pywasmtok.EncodeOptions.Special;
import pywasmtok.Tokenizer.Segment;

final class HostTest {
    /** A word is one token, and [END] a special one that the post-processor adds. */
    private static final byte[] WORDS = """
            {"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "decoder": null,
             "added_tokens": [{"id": 3, "content": "[END]", "single_word": false, "lstrip": false,
               "rstrip": false, "normalized": false, "special": true}],
             "pre_tokenizer": {"type": "Whitespace"},
             "post_processor": {"type": "TemplateProcessing",
               "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[END]", "type_id": 0}}],
               "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
               "special_tokens": {"[END]": {"id": "[END]", "ids": [3], "tokens": ["[END]"]}}},
             "model": {"type": "WordLevel", "vocab": {"?": 0, "hello": 1, "world": 2, "[END]": 3},
               "unk_token": "?"}}""".getBytes(StandardCharsets.UTF_8);

    private static final EncodeOptions BARE = EncodeOptions.DEFAULT.withAddSpecialTokens(false);

    private static Core core;

    /** What was printed while the core was compiled. */
    private static final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    @BeforeAll
    static void compile() throws IOException {
        PrintStream errors = System.err;
        System.setErr(new PrintStream(printed));
        try {
            core = new Core(Files.readAllBytes(Path.of("../../pywasmtok/core/baseline.wasm")));
        } finally {
            System.setErr(errors);
        }
    }

    private static void fails(Kind kind, Executable call) {
        assertEquals(kind, assertThrows(TokenizerException.class, call).kind);
    }

    /** An invalid text, and where it is. */
    private static void failsAt(String path, long offset, Executable call) {
        var error = assertThrows(TokenizerException.class, call);
        assertEquals(List.of(Kind.INVALID_TEXT, path, offset), List.of(error.kind, error.path, error.offset));
    }

    private static void isIds(int[] found, int... wanted) {
        assertArrayEquals(wanted, found);
    }

    @Test
    void compilesWithoutAWarning() {
        assertEquals("", printed.toString());
    }

    @Test
    void encodes() {
        Tokenizer tokenizer = core.tokenizer(WORDS);
        Encoding found = tokenizer.encode("hello  world", EncodeOptions.DEFAULT.withDetails(true));
        isIds(found.ids(), 1, 2, 3);
        assertEquals(List.of("hello", "world", "[END]"), found.tokens());
        isIds(found.offsets().get(1), 7, 12);
        isIds(tokenizer.encode("hello").ids(), 1, 3);
        isIds(tokenizer.encodePair("hello", "world", EncodeOptions.DEFAULT.withDetails(true)).typeIds(), 0, 1);
        List<int[]> batch = tokenizer.encodeBatch(List.of("hello", "", "x"), EncodeOptions.DEFAULT);
        assertEquals(3, batch.size());
        isIds(batch.get(2), 0, 3);
        assertEquals(3, tokenizer.count("hello world", EncodeOptions.DEFAULT));
        fails(Kind.INVALID_TEXT, () -> tokenizer.encode("\ud800"));
    }

    @Test
    void anErrorSaysWhichTextIsNotWellFormed() {
        Tokenizer tokenizer = core.tokenizer(WORDS);
        String half = "é\ud83d\ude00\ud800";
        failsAt("", 6, () -> tokenizer.encode(half));
        failsAt("", 6, () -> tokenizer.count(half, BARE));
        failsAt("", 6, () -> tokenizer.tokenToId(half));
        for (EncodeOptions options : List.of(BARE, BARE.withSpecial(Special.RAISE))) {
            failsAt("texts[1]", 6, () -> tokenizer.encodePair("hello", half, options));
            failsAt("texts[1]", 6, () -> tokenizer.encodeBatch(List.of("hello", half), options));
        }
        var segments = List.of(new Segment("hello", true), new Segment(half, false));
        failsAt("texts[1]", 6, () -> tokenizer.encodeSegments(segments, BARE));
        failsAt("", -1, () -> tokenizer.stop(Stop.Config.sequences(half), new int[0], DecodeOptions.DEFAULT));
        failsAt("", -1, () -> core.tokenizer(WORDS, new LoadOptions(half, null, null, null, false)));

        byte[] cut = "{\"model\": [".getBytes(StandardCharsets.UTF_8);
        assertEquals(10, assertThrows(TokenizerException.class, () -> core.tokenizer(cut)).offset);
    }

    @Test
    void saysWhatBecomesASpecialToken() {
        Tokenizer tokenizer = core.tokenizer(WORDS);
        isIds(tokenizer.encode("hello [END]", BARE).ids(), 1, 3);
        isIds(tokenizer.encode("hello [END]", BARE.withSpecial(Special.NONE)).ids(), 1, 0, 0, 0);
        isIds(tokenizer.encode("hello [END]", BARE.withSpecial(Special.only(List.of("[END]")))).ids(), 1, 3);
        isIds(tokenizer.encode("hello [END]", BARE.withSpecial(Special.only(List.of()))).ids(), 1, 0, 0, 0);
        EncodeOptions raise = BARE.withSpecial(Special.RAISE);
        var error = assertThrows(TokenizerException.class, () -> tokenizer.encode("hello [END]", raise));
        assertEquals(Kind.SPECIAL_TOKEN_IN_TEXT, error.kind);
        assertEquals("[END]", error.feature);
        Special wrong = new Special("raize", List.of());
        fails(Kind.BAD_ARGUMENT, () -> tokenizer.encode("hello [END]", BARE.withSpecial(wrong)));
        var segments = List.of(new Segment("[END]", true), new Segment("[END]", false));
        isIds(tokenizer.encodeSegments(segments, BARE).ids(), 3, 0, 0, 0);
    }

    @Test
    void decodes() {
        Tokenizer tokenizer = core.tokenizer(WORDS);
        assertEquals("hello world", tokenizer.decode(new int[] {1, 2, 3}));
        DecodeOptions whole = DecodeOptions.DEFAULT.withSkipSpecialTokens(false);
        assertEquals("hello [END]", tokenizer.decode(new int[] {1, 99, 3}, whole));
        fails(Kind.INVALID_TOKEN, () -> tokenizer.decode(new int[] {99}, whole.withUnknown(Unknown.ERROR)));
        List<int[]> lists = List.of(new int[] {1}, new int[0], new int[] {2, 1});
        assertEquals(List.of("hello", "", "world hello"), tokenizer.decodeBatch(lists, whole));
        assertEquals(2, tokenizer.tokenToId("world").orElseThrow());
        assertTrue(tokenizer.tokenToId("none").isEmpty());
        assertNull(tokenizer.idToToken(99));
    }

    @Test
    void streamsAndStops() {
        Tokenizer tokenizer = core.tokenizer(WORDS);
        Stream stream = tokenizer.stream(new int[] {1}, DecodeOptions.DEFAULT);
        assertEquals(" world", stream.push(2));
        assertEquals("", stream.flush());

        Stop stop = tokenizer.stop(Stop.Config.sequences(" wor"), new int[0], DecodeOptions.DEFAULT);
        assertNull(stop.match());
        assertEquals("hello", stop.push(1, 2));
        assertEquals(new Stop.Match(0, " wor", false, 1, 5, 9), stop.match());
        assertEquals("", stop.push(2));
    }

    @Test
    void matchesNameTheirSequenceAfterTheListHasChanged() {
        List<String> sequences = new ArrayList<>(List.of("world"));
        var config = new Stop.Config(null, null, sequences, null, null, false, 0);
        Stop stop = core.tokenizer(WORDS).stop(config, new int[0], DecodeOptions.DEFAULT);
        sequences.clear();
        assertEquals("hello ", stop.push(1, 2));
        assertEquals("world", stop.match().sequence());
    }

    @Test
    void byteRunsAreForStreamsOnly() {
        Tokenizer tokenizer = core.tokenizer(WORDS);
        DecodeOptions eager = DecodeOptions.DEFAULT.withEagerByteRuns(true);
        int[] ids = {1};
        assertEquals("hello", tokenizer.decode(ids, eager));
        assertEquals(5, tokenizer.decodeBytes(ids, eager).length);
        assertEquals(List.of("hello"), tokenizer.decodeBatch(List.of(ids), eager));
        assertEquals("hello", tokenizer.stream(new int[0], eager).push(ids));
        assertEquals("hello", tokenizer.stop(Stop.Config.sequences(), new int[0], eager).push(ids));
    }

    @Test
    void detectsAndRefuses() throws IOException {
        assertEquals("tokenizer.json", core.detect(WORDS).format());
        fails(Kind.EMPTY_FILE, () -> core.detect(new byte[0]));
        fails(Kind.NOT_A_TOKENIZER, () -> core.tokenizer("<html>".getBytes(StandardCharsets.UTF_8)));
        fails(Kind.HOST, () -> new Core(new byte[] {1, 2, 3}));
        fails(Kind.HOST, () -> new Core(new byte[] {0, 'a', 's', 'm', 1, 0, 0, 0}));
        for (String name : List.of("portable", "threads", "template")) {
            byte[] wasm = Files.readAllBytes(Path.of("../../pywasmtok/core/" + name + ".wasm"));
            fails(Kind.HOST, () -> new Core(wasm));
        }
    }

    @Test
    void aCallThatIsInterruptedLosesTheTokenizer() {
        Tokenizer tokenizer = core.tokenizer(WORDS);
        Thread.currentThread().interrupt();
        var first = assertThrows(TokenizerException.class, () -> tokenizer.encode("hello"));
        assertTrue(Thread.interrupted());
        var second = assertThrows(TokenizerException.class, () -> tokenizer.encode("hello"));
        assertEquals(List.of(Kind.TRAP, Kind.TRAP), List.of(first.kind, second.kind));
        // Each call has an exception of its own: its stack is that of the call.
        assertNotSame(first, second);
        assertSame(first, second.getCause());
    }

    @Test
    void aTrapHasTheWordsOfTheEngine() {
        // A module of which each load ends in a panic with the text "a defect".
        Core panics = new Core(Base64.getDecoder().decode("""
                AGFzbQEAAAABDAJgAAF/YAN/f38BfwMGBQAAAQAABQMBAAEHXgYGbWVtb3J5AgAPcHd0X2FiaV92ZXJzaW9uAAAPcHd0X3Nl\
                c3Npb25fbmV3AAENcHd0X2xvYWRfd2l0aAACDXB3dF9wYW5pY19wdHIAAw1wd3RfcGFuaWNfbGVuAAQKGgUEAEEBCwQAQQgL\
                AwAACwUAQYABCwQAQQgLCxwCAEEsCwgAAQAAABAAAABBgAELCGEgZGVmZWN0ACUNcHl3YXNtdG9rLmFiaXsiYWJpIjoxLCJ2\
                ZXJzaW9uIjoiMCJ9"""));
        var error = assertThrows(TokenizerException.class, () -> panics.tokenizer(WORDS));
        assertEquals(Kind.TRAP, error.kind);
        assertTrue(error.getMessage().endsWith(": a defect"), error.getMessage());
    }
}
