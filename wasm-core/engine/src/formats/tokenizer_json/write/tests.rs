use super::*;
use crate::definition::{
    AddedToken, Blob, Bpe, Merge, Model, Normalizer, PieceAlgorithm, PieceKind, SentencePiece,
    SentencePieceNormalizer, Unigram,
};
use crate::formats::tokenizer_json::read;
use crate::vocab::Vocab;

fn vocab(texts: &[(&str, u32)]) -> Vocab {
    let mut vocab = Vocab::new();
    for &(text, id) in texts {
        vocab.insert(text, id).unwrap();
    }
    vocab
}

fn bpe(texts: &[(&str, u32)]) -> Model {
    Model::Bpe(Bpe {
        vocab: vocab(texts),
        merges: vec![Merge { left: 0, right: 1, product: 2 }],
        unk: None,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: true,
        continuing_subword_prefix: None,
        end_of_word_suffix: None,
    })
}

fn with_added(model: Model, tokens: &[(&str, u32)], in_text: bool) -> Definition {
    let token = |&(content, id): &(&str, u32)| AddedToken {
        id,
        content: content.to_owned(),
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
        in_text,
    };
    Definition {
        ids_as_stated: true,
        added_tokens: tokens.iter().map(token).collect(),
        ..Definition::new("a test", model)
    }
}

const TEXTS: [(&str, u32); 3] = [("a", 0), ("b", 1), ("ab", 2)];

fn vocab_of(written: &Written) -> Vec<(String, u32)> {
    let definition = read(written.json.as_bytes()).unwrap();
    definition.model.vocab().iter().map(|(text, id)| (text.to_owned(), id)).collect()
}

#[test]
fn every_component_comes_back_as_it_was() {
    let file = r###"{"version":"1.0",
        "truncation":{"direction":"Left","max_length":7,"strategy":"OnlyFirst","stride":1},
        "padding":{"strategy":{"Fixed":9},"direction":"Left","pad_to_multiple_of":4,"pad_id":1,
            "pad_type_id":2,"pad_token":"<p>"},
        "added_tokens":[{"id":3,"content":"<\"s>","single_word":true,"lstrip":false,"rstrip":true,
            "normalized":false,"special":true}],
        "normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"NFD"},
            {"type":"NFKC"},{"type":"NFKD"},{"type":"Lowercase"},{"type":"StripAccents"},
            {"type":"Strip","strip_left":true,"strip_right":false},{"type":"Nmt"},
            {"type":"Replace","pattern":{"String":"a"},"content":"b"},
            {"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},
            {"type":"Prepend","prepend":"▁"},{"type":"ByteLevel"},
            {"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":false,
                "strip_accents":null,"lowercase":true}]},
        "pre_tokenizer":{"type":"Sequence","pretokenizers":[
            {"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":false},
            {"type":"Split","pattern":{"Regex":"x"},"behavior":"MergedWithNext","invert":true},
            {"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":false},
            {"type":"Digits","individual_digits":true},
            {"type":"Punctuation","behavior":"Contiguous"},{"type":"Whitespace"},
            {"type":"WhitespaceSplit"},{"type":"CharDelimiterSplit","delimiter":"-"},
            {"type":"BertPreTokenizer"},{"type":"UnicodeScripts"},
            {"type":"FixedLength","length":3}]},
        "post_processor":{"type":"Sequence","processors":[
            {"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true},
            {"type":"RobertaProcessing","sep":["s",1],"cls":["c",2],"trim_offsets":true,
                "add_prefix_space":false},
            {"type":"BertProcessing","sep":["s",1],"cls":["c",2]},
            {"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":1}},
                {"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"B","type_id":2}}],
                "special_tokens":{"x":{"id":"x","ids":[1,2],"tokens":["y","z"]}}}]},
        "decoder":{"type":"Sequence","decoders":[
            {"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
            {"type":"ByteFallback"},{"type":"Fuse"},
            {"type":"Strip","content":" ","start":1,"stop":2},
            {"type":"Replace","pattern":{"String":"a"},"content":"b"},
            {"type":"Metaspace","replacement":"_","prepend_scheme":"never","split":true},
            {"type":"BPEDecoder","suffix":"</w>"},
            {"type":"WordPiece","prefix":"##","cleanup":true},
            {"type":"CTC","pad_token":"p","word_delimiter_token":"|","cleanup":false}]},
        "model":{"type":"BPE","dropout":null,"unk_token":"a","continuing_subword_prefix":null,
            "end_of_word_suffix":"$","fuse_unk":true,"byte_fallback":true,"ignore_merges":true,
            "vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]}}"###;
    let written = write(&read(file.as_bytes()).unwrap()).unwrap();
    let (before, after): (Value, Value) =
        (serde_json::from_str(file).unwrap(), serde_json::from_str(&written.json).unwrap());
    assert_eq!(after, before);
    assert_eq!(written.differences, Vec::<String>::new());
}

#[test]
fn models_come_back_as_they_were() {
    for model in [
        r#"{"type":"WordLevel","vocab":{"a":0,"b":7},"unk_token":"?"}"#,
        r#"{"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"\"","max_input_chars_per_word":9,"vocab":{}}"#,
        r#"{"type":"Unigram","unk_id":null,"byte_fallback":true,"vocab":[]}"#,
        r#"{"type":"Unigram","unk_id":1,"byte_fallback":false,"vocab":[["a",-1.25],["b",3.0],["a",-10.345678329467773]]}"#,
    ] {
        let file = format!(r#"{{"version":"1.0","model":{model}}}"#);
        let written = write(&read(file.as_bytes()).unwrap()).unwrap();
        let after: Value = serde_json::from_str(&written.json).unwrap();
        assert_eq!(after["model"], serde_json::from_str::<Value>(model).unwrap());
    }
}

#[test]
fn an_empty_sequence_is_not_nothing() {
    let none = Definition::new("a test", bpe(&TEXTS));
    let some = Definition {
        decoder: Some(Vec::new()),
        post_processor: Some(Vec::new()),
        ..Definition::new("a test", bpe(&TEXTS))
    };
    for definition in [none, some] {
        let back = read(write(&definition).unwrap().json.as_bytes()).unwrap();
        assert_eq!(back.decoder, definition.decoder);
        assert_eq!(back.post_processor, definition.post_processor);
    }
}

#[test]
fn bytes_go_through_base64() {
    let charsmap = Blob(vec![0, 1, 254, 255]);
    let mut definition = Definition::new("a test", bpe(&TEXTS));
    definition.normalizer.push(Normalizer::Precompiled { charsmap });
    let back = read(write(&definition).unwrap().json.as_bytes()).unwrap();
    assert_eq!(back.normalizer, definition.normalizer);
}

#[test]
fn stated_ids_are_kept() {
    // Behind the model's, in order: the reference numbers them so by itself.
    let written = write(&with_added(bpe(&TEXTS), &[("<t>", 4), ("<s>", 3)], true)).unwrap();
    assert_eq!(vocab_of(&written).len(), 3);
    let back = read(written.json.as_bytes()).unwrap();
    assert_eq!(back.added_tokens[0].content, "<s>");
    // A gap: they move into the vocabulary.
    let written = write(&with_added(bpe(&TEXTS), &[("<s>", 5)], true)).unwrap();
    assert_eq!(vocab_of(&written).last(), Some(&("<s>".to_owned(), 5)));
    assert_eq!(written.differences, Vec::<String>::new());
}

#[test]
fn what_text_must_not_yield_is_named() {
    let written = write(&with_added(bpe(&TEXTS), &[("<s>", 5)], false)).unwrap();
    assert_eq!(written.differences, ["added_tokens:in_text", "added_tokens:in_vocabulary"]);
}

#[test]
fn what_cannot_be_said_is_refused() {
    let refused = |definition: Definition| write(&definition).unwrap_err().feature.unwrap();
    assert_eq!(refused(with_added(bpe(&TEXTS), &[("a", 9)], true)), "convert:added_tokens");
    assert_eq!(refused(with_added(bpe(&TEXTS), &[("x", 1)], true)), "convert:added_tokens");
    let texts = [("a", 0), ("b", 1), ("xyz", 2)];
    assert_eq!(refused(Definition::new("a test", bpe(&texts))), "convert:merges");
    let unigram = |vocab| {
        Model::Unigram(Unigram { vocab, scores: vec![0.0, 1.0], unk: None, byte_fallback: false })
    };
    let gap = with_added(unigram(vocab(&[("a", 0), ("b", 1)])), &[("<s>", 5)], true);
    assert_eq!(refused(gap), "convert:added_tokens");
    assert_eq!(refused(Definition::new("a test", unigram(vocab(&[("a", 0)])))), "convert:vocab");
}

fn sentencepiece(algorithm: PieceAlgorithm) -> Definition {
    let pieces = [
        ("<unk>", PieceKind::Unknown, 0.0),
        ("<s>", PieceKind::Control, 0.0),
        ("a", PieceKind::Normal, -4.0),
        ("b", PieceKind::Normal, -5.0),
        ("ab", PieceKind::Normal, -2.0),
        ("aba", PieceKind::Normal, -1.0),
        ("<u>", PieceKind::UserDefined, 0.0),
    ];
    let model = SentencePiece {
        algorithm,
        vocab: vocab(&(0..).zip(&pieces).map(|(id, piece)| (piece.0, id)).collect::<Vec<_>>()),
        scores: pieces.iter().map(|piece| piece.2).collect(),
        kinds: pieces.iter().map(|piece| piece.1).collect(),
        unk: 0,
        byte_fallback: false,
    };
    let normalizer = SentencePieceNormalizer {
        name: "identity".to_owned(),
        add_dummy_prefix: true,
        remove_extra_whitespaces: true,
        escape_whitespaces: true,
        treat_whitespace_as_suffix: false,
        charsmap: Blob::default(),
        user_defined: vec!["<u>".to_owned()],
    };
    let normalizer = vec![Normalizer::SentencePiece(Box::new(normalizer))];
    let control = with_added(bpe(&TEXTS), &[("<s>", 1)], false).added_tokens;
    Definition {
        ids_as_stated: true,
        added_tokens: control,
        normalizer,
        ..Definition::new("sentencepiece", Model::SentencePiece(model))
    }
}

#[test]
fn sentencepiece_comes_as_near_as_there_is() {
    let written = write(&sentencepiece(PieceAlgorithm::Bpe)).unwrap();
    assert_eq!(
        written.differences,
        ["normalizer:user_defined", "model:ties", "added_tokens:in_text"]
    );
    let back = read(written.json.as_bytes()).unwrap();
    let merge = |left, right, product| Merge { left, right, product };
    let Model::Bpe(bpe) = back.model else { panic!("no BPE") };
    // The best piece first; of its parts only those that are pieces.
    assert_eq!(bpe.merges, [merge(4, 2, 5), merge(2, 3, 4)]);
    assert_eq!(back.normalizer.len(), 4);
    assert_eq!(back.added_tokens.iter().map(|t| t.special).collect::<Vec<_>>(), [true, false]);

    let written = write(&sentencepiece(PieceAlgorithm::Unigram)).unwrap();
    let Model::Unigram(unigram) = read(written.json.as_bytes()).unwrap().model else {
        panic!("no Unigram")
    };
    assert_eq!(unigram.scores, [-5.0, -5.0, -4.0, -5.0, -2.0, -1.0, 0.0]);
    let error = write(&sentencepiece(PieceAlgorithm::Word)).unwrap_err();
    assert_eq!(error.feature.as_deref(), Some("convert:model:word"));
}
