//! The exported functions, called as a host calls them. Addresses are half addresses here, so
//! results are looked at in the session's body; tests/engine/test_abi.py reads them through the memory.

use crate::body::Body;
use crate::constants::*;
use crate::*;
use pywasmtok_engine::error::{Error, ErrorKind};

/// Ids: a 0, b 1, ab 2, space 3, `<s>` 4, which the post-processor puts in front of each text.
const FILE: &str = r#"{"version":"1.0","truncation":null,"padding":null,"normalizer":null,
"added_tokens":[{"id":4,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,
  "normalized":false,"special":true}],
"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"post_processor":{"type":"TemplateProcessing",
  "single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
  "pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},
          {"SpecialToken":{"id":"<s>","type_id":1}},{"Sequence":{"id":"B","type_id":1}}],
  "special_tokens":{"<s>":{"id":"<s>","ids":[4],"tokens":["<s>"]}}},
"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,
  "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
  "vocab":{"a":0,"b":1,"ab":2,"Ġ":3},"merges":["a b"]}}"#;

/// A session that frees itself, so that tests may share the slots.
struct Host {
    session: u32,
}

impl Host {
    fn new() -> Self {
        let session = pwt_session_new();
        assert_ne!(session, 0);
        Self { session }
    }

    fn put(&self, bytes: &[u8]) -> u32 {
        let len = u32::try_from(bytes.len()).unwrap();
        assert_ne!(pwt_input(self.session, len), 0);
        self.body(|body| body.input.fill(bytes));
        len
    }

    fn put_words(&self, words: &[u32], behind: &[u8]) -> u32 {
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .chain(behind.iter().copied())
            .collect();
        self.put(&bytes)
    }

    fn load(&self) -> u32 {
        self.load_file(FILE)
    }

    fn load_file(&self, file: &str) -> u32 {
        let len = self.put(file.as_bytes());
        let tokenizer = pwt_load(self.session, len);
        assert_ne!(tokenizer, 0, "{:?}", self.error());
        tokenizer
    }

    fn body<T>(&self, look: impl FnOnce(&mut Body) -> T) -> T {
        sessions::with(self.session, |session| look(session.body)).unwrap()
    }

    fn field(&self, field: usize) -> u32 {
        sessions::with(self.session, |session| session.block[field]).unwrap()
    }

    fn error(&self) -> Error {
        let error = self.body(|body| body.error().cloned()).unwrap();
        assert_eq!(self.field(FIELD_STATUS), error.kind as u32);
        assert_eq!(self.field(FIELD_MESSAGE_LEN) as usize, error.message.len());
        let offset = error.offset.unwrap_or(u64::MAX);
        let halves = (self.field(FIELD_ERROR_OFFSET_HI), self.field(FIELD_ERROR_OFFSET_LO));
        assert_eq!(u64::from(halves.0) << 32 | u64::from(halves.1), offset);
        error
    }

    fn ids(&self) -> Vec<u32> {
        let ids = self.body(|body| body.ids.clone());
        assert_eq!(self.field(FIELD_IDS_LEN) as usize, ids.len());
        ids
    }

    fn text(&self) -> String {
        let text = self.body(|body| body.text.clone());
        assert_eq!(self.field(FIELD_TEXT_LEN) as usize, text.len());
        text
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        pwt_session_free(self.session);
    }
}

#[test]
fn the_kinds_of_the_table_are_those_of_the_engine() {
    use ErrorKind::*;
    let kinds = [
        EmptyFile,
        GitLfsPointer,
        Compressed,
        NotATokenizer,
        UnknownFormat,
        InvalidFile,
        Unsupported,
        LimitExceeded,
        InvalidText,
        InvalidToken,
        BadArgument,
        OutOfMemory,
        Internal,
        AmbiguousPattern,
        NoTokenizerInFile,
        SpecialTokenInText,
    ];
    assert_eq!(kinds.len(), ERROR_KINDS.len());
    for (kind, (name, number)) in kinds.into_iter().zip(ERROR_KINDS) {
        assert_eq!(kind as u32, number);
        assert_eq!(format!("{kind:?}").to_lowercase(), name.replace('_', ""));
    }
}

#[test]
fn a_text_becomes_ids_and_text_again() {
    let host = Host::new();
    let tokenizer = host.load();
    let len = host.put(b"abab a");
    assert_eq!(pwt_encode(host.session, tokenizer, len, 0), 4);
    assert_eq!(host.ids(), [2, 2, 3, 0]);
    assert_eq!(pwt_encode(host.session, tokenizer, len, ENCODE_ADD_SPECIAL_TOKENS), 5);
    assert_eq!(host.ids(), [4, 2, 2, 3, 0]);
    host.put_words(&[4, 2, 2, 3, 0], b"");
    assert_eq!(pwt_decode(host.session, tokenizer, 5, 0), 9);
    assert_eq!(host.text(), "<s>abab a");
    assert_eq!(pwt_decode(host.session, tokenizer, 5, DECODE_SKIP_SPECIAL_TOKENS), 6);
    assert_eq!(host.text(), "abab a");
    let both = DECODE_UNKNOWN_IS_ERROR | DECODE_UNKNOWN_IS_REPLACED;
    assert_eq!(pwt_decode(host.session, tokenizer, 5, both), ANSWER_FAILED);
    assert_eq!(pwt_decode(host.session, tokenizer, 5, DECODE_UNKNOWN_IS_ERROR), 9);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn details_stand_beside_the_ids() {
    let host = Host::new();
    let tokenizer = host.load();
    host.put(b"abb");
    let flags = ENCODE_ADD_SPECIAL_TOKENS | ENCODE_DETAILS;
    assert_eq!(pwt_encode_pair(host.session, tokenizer, 2, 1, flags), 4);
    assert_eq!(host.ids(), [4, 2, 4, 1]);
    host.body(|body| {
        let details = &body.details;
        assert_eq!(details.type_ids, [0, 0, 1, 1]);
        assert_eq!(details.offsets, [0, 0, 0, 2, 0, 0, 0, 1]);
        assert_eq!(details.byte_offsets, [0, 0, 0, 2, 0, 0, 0, 1]);
        assert_eq!(details.special_mask, [1, 0, 1, 0]);
        assert_eq!(details.attention_mask, [1, 1, 1, 1]);
        let tokens = b"\x03\0\0\0<s>\x02\0\0\0ab\x03\0\0\0<s>\x01\0\0\0b";
        assert_eq!(details.tokens, tokens);
    });
    assert_eq!(pwt_encode_pair(host.session, tokenizer, 2, 1, ENCODE_ADD_SPECIAL_TOKENS), 4);
    assert_eq!(host.ids(), [4, 2, 4, 1]);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn batches_have_bounds() {
    let host = Host::new();
    let tokenizer = host.load();
    for flags in [0, ENCODE_DETAILS] {
        host.put_words(&[3, 0, 1], b"abab");
        assert_eq!(pwt_encode_batch(host.session, tokenizer, 3, flags), 3);
        assert_eq!(host.ids(), [2, 0, 1]);
        assert_eq!(host.body(|body| body.bounds.clone()), [0, 2, 2, 3]);
        assert_eq!(host.field(FIELD_BOUNDS_LEN), 4);
    }
    host.put_words(&[2, 0, 1, 2, 0, 1], b"");
    assert_eq!(pwt_decode_batch(host.session, tokenizer, 3, 0), 4);
    assert_eq!(host.text(), "abab");
    assert_eq!(host.body(|body| body.bounds.clone()), [0, 3, 3, 4]);
    assert_eq!(pwt_encode_batch(host.session, tokenizer, 0, 0), 0);
    assert_eq!(host.body(|body| body.bounds.clone()), [0]);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn a_padded_batch_is_the_same_with_and_without_details() {
    let host = Host::new();
    let padding = r#""padding":{"strategy":"BatchLongest","direction":"Right",
        "pad_to_multiple_of":null,"pad_id":4,"pad_type_id":0,"pad_token":"<s>"}"#;
    let tokenizer = host.load_file(&FILE.replace(r#""padding":null"#, padding));
    for flags in [0, ENCODE_DETAILS] {
        host.put_words(&[1, 3], b"aa a");
        assert_eq!(pwt_encode_batch(host.session, tokenizer, 2, flags), 6);
        assert_eq!(host.ids(), [0, 4, 4, 0, 3, 0]);
        assert_eq!(host.body(|body| body.bounds.clone()), [0, 3, 6]);
    }
    assert_eq!(host.body(|body| body.details.attention_mask.clone()), [1, 0, 0, 1, 1, 1]);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn tokens_and_ids_are_looked_up() {
    let host = Host::new();
    let tokenizer = host.load();
    let len = host.put("Ġ".as_bytes());
    assert_eq!(pwt_token_to_id(host.session, tokenizer, len), 3);
    let len = host.put(b"no such token");
    assert_eq!(pwt_token_to_id(host.session, tokenizer, len), ANSWER_FAILED);
    assert_eq!(host.field(FIELD_STATUS), 0);
    assert_eq!(pwt_id_to_token(host.session, tokenizer, 4), 3);
    assert_eq!(host.text(), "<s>");
    assert_eq!(pwt_id_to_token(host.session, tokenizer, 5), ANSWER_FAILED);
    assert_eq!(host.field(FIELD_STATUS), 0);
    for (flags, len) in [(0, 38), (VOCAB_WITH_ADDED_TOKENS, 49)] {
        assert_eq!(pwt_vocab(host.session, tokenizer, flags), len);
    }
    assert!(pwt_info(host.session, tokenizer) > 0);
    assert!(host.text().starts_with('{'));
    let len = host.put(FILE.as_bytes());
    assert!(pwt_detect(host.session, len) > 0);
    assert!(host.text().contains("tokenizer.json"), "{}", host.text());
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn a_file_is_converted_to_itself() {
    let host = Host::new();
    let len = host.put(FILE.as_bytes());
    let answer = pwt_convert(host.session, len, 0);
    let text = host.text();
    assert_eq!(answer as usize, text.len());
    let bounds = host.body(|body| body.bounds.clone());
    assert_eq!(host.field(FIELD_BOUNDS_LEN), 3);
    assert_eq!((bounds[0], bounds[2] as usize), (0, text.len()));
    let (file, differences) = text.split_at(bounds[1] as usize);
    assert_eq!(differences, "[]");
    let len = host.put(file.as_bytes());
    assert_ne!(pwt_load(host.session, len), 0);
}

#[test]
fn a_file_has_a_fingerprint() {
    let host = Host::new();
    let len = host.put(FILE.as_bytes());
    let answer = pwt_fingerprint(host.session, len, 0);
    let text = host.text();
    assert_eq!(answer as usize, text.len());
    assert!(text.contains("\"fingerprint\":\"pwt1:"), "{text}");
    let spaced = FILE.replace(':', " : ");
    let len = host.put(spaced.as_bytes());
    assert!(pwt_fingerprint(host.session, len, 0) > 0);
    assert_eq!(host.text(), text);
}

#[test]
fn wrong_text_is_named_with_its_place() {
    let host = Host::new();
    let tokenizer = host.load();
    host.put(b"ab\xFFa");
    assert_eq!(pwt_encode(host.session, tokenizer, 4, 0), ANSWER_FAILED);
    let error = host.error();
    assert_eq!((error.kind, error.offset), (ErrorKind::InvalidText, Some(2)));
    host.put_words(&[1, 2], b"ab\xFF");
    assert_eq!(pwt_encode_batch(host.session, tokenizer, 2, 0), ANSWER_FAILED);
    let error = host.error();
    assert_eq!((error.path.as_deref(), error.offset), (Some("texts[1]"), Some(1)));
    // The pair is cut by its lengths, so half a character on either side is an error.
    host.put("é".as_bytes());
    assert_eq!(pwt_encode_pair(host.session, tokenizer, 1, 1, 0), ANSWER_FAILED);
    assert_eq!(host.error().path.as_deref(), Some("texts[0]"));
    host.put(b"ab");
    assert_eq!(pwt_encode(host.session, tokenizer, 2, 0), 1);
    assert_eq!(host.field(FIELD_STATUS), 0);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn lengths_that_lie_are_refused() {
    let host = Host::new();
    let tokenizer = host.load();
    let refused = |answer: i32| {
        assert_eq!(answer, ANSWER_FAILED);
        assert_eq!(host.error().kind, ErrorKind::BadArgument);
    };
    let capacity = host.field(FIELD_INPUT_CAP);
    let session = host.session;
    for len in [capacity + 1, 1 << 31, u32::MAX] {
        refused(pwt_encode(session, tokenizer, len, 0));
        refused(pwt_encode_pair(session, tokenizer, len, 0, 0));
        refused(pwt_encode_pair(session, tokenizer, 0, len, 0));
        refused(pwt_encode_pair(session, tokenizer, len, len, 0));
        refused(pwt_encode_batch(session, tokenizer, len, 0));
        refused(pwt_decode(session, tokenizer, len, 0));
        refused(pwt_decode_batch(session, tokenizer, len, 0));
        refused(pwt_stream_new(session, tokenizer, len, 0));
        refused(pwt_stream_step(session, tokenizer, len, 0, 0));
        refused(pwt_stream_step(session, tokenizer, 0, len, 0));
        refused(pwt_stop_new(session, tokenizer, 0, len, 0));
        refused(pwt_stop_step(session, tokenizer, 1, 1, len, 0));
        refused(pwt_stop_step(session, tokenizer, 1, len, 1, 0));
        refused(pwt_token_to_id(session, tokenizer, len));
        refused(pwt_detect(session, len));
        refused(pwt_convert(session, len, 0));
        refused(pwt_convert(session, len, len));
        refused(pwt_fingerprint(session, len, len));
        assert_eq!(pwt_load(session, len), 0);
        assert_eq!(host.error().kind, ErrorKind::BadArgument);
    }
    for len in [capacity, u32::MAX] {
        host.put_words(&[1, len], b"ab");
        refused(pwt_encode_batch(session, tokenizer, 2, 0));
        refused(pwt_decode_batch(session, tokenizer, 2, 0));
    }
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn unknown_flags_are_refused() {
    let host = Host::new();
    let tokenizer = host.load();
    let answers = [
        pwt_encode(host.session, tokenizer, 0, 8),
        pwt_encode_pair(host.session, tokenizer, 0, 0, 1 << 31),
        pwt_encode_batch(host.session, tokenizer, 0, 8),
        pwt_decode(host.session, tokenizer, 0, 32),
        pwt_decode(host.session, tokenizer, 0, DECODE_EAGER_BYTE_RUNS),
        pwt_decode_batch(host.session, tokenizer, 0, 6),
        pwt_stream_new(host.session, tokenizer, 0, DECODE_AS_BYTES),
        pwt_stream_step(host.session, tokenizer, 0, 0, 2),
        pwt_stop_step(host.session, tokenizer, 0, 0, 0, 2),
        pwt_vocab(host.session, tokenizer, 2),
    ];
    assert_eq!(answers, [ANSWER_FAILED; 10]);
    assert_eq!(host.error().kind, ErrorKind::BadArgument);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn a_stream_is_its_state() {
    let host = Host::new();
    let tokenizer = host.load();
    host.put(b"");
    let len = pwt_stream_new(host.session, tokenizer, 0, DECODE_SKIP_SPECIAL_TOKENS);
    let mut state = host.body(|body| body.state.clone());
    assert_eq!((len as usize, host.field(FIELD_STATE_LEN) as usize), (state.len(), state.len()));
    let mut text = String::new();
    for id in [4, 2, 3, 0] {
        host.put_words(&[id], &state);
        assert!(pwt_stream_step(host.session, tokenizer, 1, state.len() as u32, 0) >= 0);
        text.push_str(&host.text());
        state = host.body(|body| body.state.clone());
    }
    assert_eq!(text, "ab a");
    state.pop();
    host.put_words(&[0], &state);
    let answer = pwt_stream_step(host.session, tokenizer, 1, state.len() as u32, STEP_FINISH);
    assert_eq!((answer, host.error().kind), (ANSWER_FAILED, ErrorKind::BadArgument));
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn a_stop_decoder_reports_what_stopped_it() {
    let host = Host::new();
    let tokenizer = host.load();
    let config = br#"{"stop_sequences":["ba"],"visible_stop_sequences":["<s>"]}"#;
    host.put(config);
    let len = config.len() as u32;
    assert!(pwt_stop_new(host.session, tokenizer, 0, len, DECODE_SKIP_SPECIAL_TOKENS) > 2);
    assert!(host.text().contains("<s>"));
    let state = host.body(|body| body.state.clone());
    host.put_words(&[2, 2, 0], &[config, state.as_slice()].concat());
    let (config_len, state_len) = (config.len() as u32, state.len() as u32);
    assert_eq!(pwt_stop_step(host.session, tokenizer, 3, config_len, state_len, 0), 1);
    assert_eq!(host.text(), "a");
    let words = host.body(|body| body.bounds.clone());
    assert_eq!(words, [2, 2, 0, 0, 1, 0, 1, 0, 3, 0, 1, 0, 3, 0]);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn bytes_can_be_had_before_they_are_replaced() {
    let host = Host::new();
    let file = FILE.replace("\"Ġ\":3", "\"Ġ\":3,\"ä½\":4");
    let tokenizer = host.load_file(&file);
    host.put_words(&[0, 4], b"");
    assert_eq!(pwt_decode(host.session, tokenizer, 2, DECODE_AS_BYTES), 3);
    assert_eq!(host.body(|body| body.table.clone()), [b'a', 0xE4, 0xBD]);
    host.put_words(&[1, 1, 0, 99], b"");
    assert_eq!(pwt_decode_batch(host.session, tokenizer, 2, DECODE_UNKNOWN_IS_REPLACED), 4);
    assert_eq!(host.text(), "a�");
    assert_eq!(
        pwt_decode_batch(host.session, tokenizer, 2, DECODE_UNKNOWN_IS_ERROR),
        ANSWER_FAILED
    );
    assert_eq!(host.error().kind, ErrorKind::InvalidToken);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn wrong_sessions_are_refused() {
    let ended = Host::new().session;
    for session in [0, 1, ended, ended + 4, ended.wrapping_sub(1), u32::MAX] {
        assert_eq!(pwt_encode(session, 1, 0, 0), ANSWER_BAD_SESSION);
        assert_eq!(pwt_info(session, 1), ANSWER_BAD_SESSION);
        assert_eq!(pwt_input(session, 1), 0);
        assert_eq!(pwt_load(session, 1), 0);
        pwt_session_free(session);
    }
}

#[test]
fn a_session_in_use_is_refused() {
    let host = Host::new();
    let inner = sessions::with(host.session, |_| {
        pwt_session_free(host.session);
        pwt_encode(host.session, 1, 0, 0)
    });
    assert_eq!(inner, Some(ANSWER_BAD_SESSION));
    assert_eq!(pwt_encode(host.session, 1, 0, 0), ANSWER_FAILED);
}

#[test]
fn wrong_tokenizers_are_refused() {
    let host = Host::new();
    let freed = host.load();
    pwt_tokenizer_free(freed);
    let next = host.load();
    assert_ne!(freed, next);
    // A generation that no slot ever has: the one below could be another test's tokenizer.
    let never = freed % MAX_TOKENIZERS as u32;
    for tokenizer in [0, freed, never, next + (1 << 20), u32::MAX] {
        pwt_tokenizer_free(tokenizer);
        assert_eq!(pwt_encode(host.session, tokenizer, 0, 0), ANSWER_FAILED);
        assert_eq!(host.error().kind, ErrorKind::BadArgument);
    }
    assert_eq!(pwt_encode(host.session, next, 0, 0), 0);
    pwt_tokenizer_free(next);
}

#[test]
fn a_bad_file_is_an_error_and_the_session_goes_on() {
    let host = Host::new();
    let len = host.put(b"   ");
    assert_eq!(pwt_load(host.session, len), 0);
    assert_eq!(host.error().kind, ErrorKind::EmptyFile);
    assert_eq!(pwt_detect(host.session, len), ANSWER_FAILED);
    assert_eq!(host.error().kind, ErrorKind::EmptyFile);
    pwt_tokenizer_free(host.load());
}

#[test]
fn many_threads_share_a_tokenizer() {
    let tokenizer = Host::new().load();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let host = Host::new();
                for _ in 0..200 {
                    let len = host.put(b"abab a");
                    assert_eq!(pwt_encode(host.session, tokenizer, len, 0), 4);
                    assert_eq!(host.ids(), [2, 2, 3, 0]);
                    let other = host.load();
                    pwt_tokenizer_free(other);
                }
            });
        }
    });
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn a_warm_session_keeps_its_buffers() {
    let host = Host::new();
    let tokenizer = host.load();
    let len = host.put(&b"abab a ".repeat(1000));
    let places = || {
        assert!(pwt_encode(host.session, tokenizer, len, ENCODE_ADD_SPECIAL_TOKENS) > 0);
        (host.field(FIELD_INPUT_PTR), host.field(FIELD_IDS_PTR))
    };
    let first = places();
    assert_eq!(places(), first);
    let capacity = host.field(FIELD_INPUT_CAP);
    assert_eq!(pwt_input(host.session, capacity), first.0);
    assert_eq!(first.0 % 16, 0);
    pwt_tokenizer_free(tokenizer);
}

#[test]
fn worker_memory_is_aligned_and_freed_once() {
    let address = pwt_memory_new(1000);
    assert_ne!(address, 0);
    assert_eq!(address % 64, 0);
    pwt_memory_free(address + 64);
    pwt_memory_free(address);
    pwt_memory_free(address);
    assert_ne!(pwt_memory_new(0), 0);
}
