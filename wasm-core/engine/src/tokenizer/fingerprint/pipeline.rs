//! The steps before the model, and those of the decoder.

use super::canonical::Canonical;
use crate::definition::llama::{LlamaNormalizer, LlamaSplit, UnigramNormalizer};
use crate::definition::{
    Decoder, Normalizer, Pattern, PreTokenizer, PrependScheme, SentencePieceDecoder,
    SentencePieceNormalizer, SplitBehavior,
};

pub fn normalizer(out: &mut Canonical, step: &Normalizer) {
    match step {
        Normalizer::Nfc => out.text("NFC"),
        Normalizer::Nfd => out.text("NFD"),
        Normalizer::Nfkc => out.text("NFKC"),
        Normalizer::Nfkd => out.text("NFKD"),
        Normalizer::Lowercase => out.text("Lowercase"),
        Normalizer::StripAccents => out.text("StripAccents"),
        Normalizer::Strip { left, right } => {
            out.text("Strip");
            out.flag(*left);
            out.flag(*right);
        }
        Normalizer::Replace { pattern: what, content } => replace(out, what, content),
        Normalizer::Prepend(text) => {
            out.text("Prepend");
            out.text(text);
        }
        Normalizer::Bert { clean_text, handle_chinese_chars, strip_accents, lowercase } => {
            out.text("BertNormalizer");
            out.flag(*clean_text);
            out.flag(*handle_chinese_chars);
            out.optional(*strip_accents, Canonical::flag);
            out.flag(*lowercase);
        }
        Normalizer::Precompiled { charsmap } => {
            out.text("Precompiled");
            out.bytes(&charsmap.0);
        }
        Normalizer::Nmt => out.text("Nmt"),
        Normalizer::ByteLevel => out.text("ByteLevel"),
        Normalizer::SentencePiece(rules) => {
            out.text("SentencePiece");
            sentence_piece(out, rules);
        }
        Normalizer::Llama(step) => llama_normalizer(out, step),
    }
}

fn sentence_piece(out: &mut Canonical, rules: &SentencePieceNormalizer) {
    let SentencePieceNormalizer {
        // What the rules are called does nothing.
        name: _,
        add_dummy_prefix,
        remove_extra_whitespaces,
        escape_whitespaces,
        treat_whitespace_as_suffix,
        charsmap,
        user_defined,
    } = rules;
    out.flag(*add_dummy_prefix);
    out.flag(*remove_extra_whitespaces);
    out.flag(*escape_whitespaces);
    out.flag(*treat_whitespace_as_suffix);
    out.bytes(&charsmap.0);
    out.list(user_defined, |out, text| out.text(text));
}

fn llama_normalizer(out: &mut Canonical, step: &LlamaNormalizer) {
    match step {
        LlamaNormalizer::Bert { strip_accents, lowercase } => {
            out.text("llama.cpp bert");
            out.flag(*strip_accents);
            out.flag(*lowercase);
        }
        LlamaNormalizer::Lowercase => out.text("llama.cpp lowercase"),
        LlamaNormalizer::Unigram(rules) => {
            let UnigramNormalizer { charsmap, user_defined, add_space_prefix, merge_spaces } =
                rules;
            out.text("llama.cpp t5");
            out.optional(charsmap.as_deref(), Canonical::bytes);
            out.list(user_defined, |out, text| out.text(text));
            out.flag(*add_space_prefix);
            out.flag(*merge_spaces);
        }
    }
}

pub fn pre_tokenizer(out: &mut Canonical, step: &PreTokenizer) {
    match step {
        PreTokenizer::ByteLevel { add_prefix_space, use_regex } => {
            out.text("ByteLevel");
            out.flag(*add_prefix_space);
            out.flag(*use_regex);
        }
        PreTokenizer::Split { pattern: what, behavior, invert } => {
            out.text("Split");
            pattern(out, what);
            split_behavior(out, *behavior);
            out.flag(*invert);
        }
        PreTokenizer::Metaspace { replacement, prepend, split } => {
            out.text("Metaspace");
            out.character(*replacement);
            prepend_scheme(out, *prepend);
            out.flag(*split);
        }
        PreTokenizer::Digits { individual } => {
            out.text("Digits");
            out.flag(*individual);
        }
        PreTokenizer::Punctuation { behavior } => {
            out.text("Punctuation");
            split_behavior(out, *behavior);
        }
        PreTokenizer::Whitespace => out.text("Whitespace"),
        PreTokenizer::WhitespaceSplit => out.text("WhitespaceSplit"),
        PreTokenizer::CharDelimiterSplit { delimiter } => {
            out.text("CharDelimiterSplit");
            out.character(*delimiter);
        }
        PreTokenizer::Bert => out.text("BertPreTokenizer"),
        PreTokenizer::UnicodeScripts => out.text("UnicodeScripts"),
        PreTokenizer::FixedLength { length } => {
            out.text("FixedLength");
            out.size(*length);
        }
        PreTokenizer::Llama(split) => out.text(match split {
            LlamaSplit::BertWords => "llama.cpp bert",
            LlamaSplit::NumbersInThrees => "llama.cpp numbers in threes",
            LlamaSplit::DigitsInThrees => "llama.cpp digits in threes",
        }),
    }
}

pub fn decoder(out: &mut Canonical, step: &Decoder) {
    match step {
        Decoder::ByteLevel => out.text("ByteLevel"),
        Decoder::ByteFallback => out.text("ByteFallback"),
        Decoder::Fuse => out.text("Fuse"),
        Decoder::Strip { content, start, stop } => {
            out.text("Strip");
            out.character(*content);
            out.size(*start);
            out.size(*stop);
        }
        Decoder::Replace { pattern: what, content } => replace(out, what, content),
        Decoder::Metaspace { replacement, prepend } => {
            out.text("Metaspace");
            out.character(*replacement);
            prepend_scheme(out, *prepend);
        }
        Decoder::Bpe { suffix } => {
            out.text("BPEDecoder");
            out.text(suffix);
        }
        Decoder::WordPiece { prefix, cleanup } => {
            out.text("WordPiece");
            out.text(prefix);
            out.flag(*cleanup);
        }
        Decoder::Ctc { pad_token, word_delimiter_token, cleanup } => {
            out.text("CTC");
            out.text(pad_token);
            out.text(word_delimiter_token);
            out.flag(*cleanup);
        }
        Decoder::SentencePiece(rules) => sentence_piece_decoder(out, rules),
        Decoder::TokenBytes(table) => {
            out.text("TokenBytes");
            out.list(table.iter(), Canonical::bytes);
            out.flag(table.strip_space);
            out.flag(table.clean_spaces);
        }
    }
}

fn sentence_piece_decoder(out: &mut Canonical, rules: &SentencePieceDecoder) {
    let SentencePieceDecoder {
        control,
        unk,
        unk_surface,
        byte_fallback,
        strip_dummy_prefix,
        strip_each,
        denormalizer,
    } = rules;
    out.text("SentencePiece");
    out.list(control, |out, text| out.text(text));
    out.text(unk);
    out.text(unk_surface);
    out.flag(*byte_fallback);
    out.flag(*strip_dummy_prefix);
    out.flag(*strip_each);
    out.optional(denormalizer.as_ref(), sentence_piece);
}

fn replace(out: &mut Canonical, what: &Pattern, content: &str) {
    out.text("Replace");
    pattern(out, what);
    out.text(content);
}

fn pattern(out: &mut Canonical, pattern: &Pattern) {
    match pattern {
        Pattern::Literal(text) => {
            out.text("String");
            out.text(text);
        }
        Pattern::Regex(text) => {
            out.text("Regex");
            out.text(text);
        }
    }
}

fn split_behavior(out: &mut Canonical, behavior: SplitBehavior) {
    out.text(match behavior {
        SplitBehavior::Removed => "Removed",
        SplitBehavior::Isolated => "Isolated",
        SplitBehavior::MergedWithPrevious => "MergedWithPrevious",
        SplitBehavior::MergedWithNext => "MergedWithNext",
        SplitBehavior::Contiguous => "Contiguous",
    });
}

fn prepend_scheme(out: &mut Canonical, scheme: PrependScheme) {
    out.text(match scheme {
        PrependScheme::Always => "always",
        PrependScheme::Never => "never",
        PrependScheme::First => "first",
    });
}
