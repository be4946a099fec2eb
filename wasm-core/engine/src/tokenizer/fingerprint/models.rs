//! The models: their vocabularies by id, and what orders their choices.

use super::canonical::Canonical;
use crate::definition::llama::{LlamaModel, LlamaUnigram, Ranking, TextMerges, Unknown, Whole};
use crate::definition::{
    Bpe, Greedy, Merge, Model, PieceAlgorithm, PieceKind, SentencePiece, Unigram, WordLevel,
    WordPiece,
};
use crate::vocab::Vocab;

pub fn model(out: &mut Canonical, model: &Model) {
    match model {
        Model::Bpe(model) => {
            out.text("BPE");
            bpe(out, model);
        }
        Model::WordLevel(WordLevel { vocab: words, unk_token }) => {
            out.text("WordLevel");
            vocab(out, words);
            out.text(unk_token);
        }
        Model::WordPiece(model) => {
            let WordPiece {
                vocab: pieces,
                unk_token,
                continuing_subword_prefix,
                max_input_chars_per_word,
            } = model;
            out.text("WordPiece");
            vocab(out, pieces);
            out.text(unk_token);
            out.text(continuing_subword_prefix);
            out.size(*max_input_chars_per_word);
        }
        Model::Unigram(Unigram { vocab: pieces, scores, unk, byte_fallback }) => {
            out.text("Unigram");
            vocab(out, pieces);
            out.list(scores, |out, score| out.double(*score));
            out.optional(*unk, Canonical::id);
            out.flag(*byte_fallback);
        }
        Model::SentencePiece(model) => sentence_piece(out, model),
        Model::Greedy(Greedy { vocab: tokens }) => {
            out.text("Greedy");
            vocab(out, tokens);
        }
        Model::Llama(model) => llama(out, model),
    }
}

fn bpe(out: &mut Canonical, model: &Bpe) {
    let Bpe {
        vocab: tokens,
        merges,
        unk,
        fuse_unk,
        byte_fallback,
        ignore_merges,
        continuing_subword_prefix,
        end_of_word_suffix,
    } = model;
    vocab(out, tokens);
    out.list(merges, |out, Merge { left, right, product }| {
        out.id(*left);
        out.id(*right);
        out.id(*product);
    });
    out.optional(*unk, Canonical::id);
    out.flag(*fuse_unk);
    out.flag(*byte_fallback);
    out.flag(*ignore_merges);
    // Empty is absent.
    for text in [continuing_subword_prefix, end_of_word_suffix] {
        out.text(text.as_deref().unwrap_or_default());
    }
}

fn sentence_piece(out: &mut Canonical, model: &SentencePiece) {
    let SentencePiece { algorithm, vocab: pieces, scores, kinds, unk, byte_fallback } = model;
    out.text(match algorithm {
        PieceAlgorithm::Unigram => "SentencePiece Unigram",
        PieceAlgorithm::Bpe => "SentencePiece BPE",
        PieceAlgorithm::Word => "SentencePiece Word",
        PieceAlgorithm::Char => "SentencePiece Char",
    });
    vocab(out, pieces);
    out.list(scores, |out, score| out.float(*score));
    out.list(kinds, |out, kind| {
        out.number(match kind {
            PieceKind::Normal => 1,
            PieceKind::Unknown => 2,
            PieceKind::Control => 3,
            PieceKind::UserDefined => 4,
            PieceKind::Unused => 5,
            PieceKind::Byte => 6,
        });
    });
    out.id(*unk);
    out.flag(*byte_fallback);
}

fn llama(out: &mut Canonical, model: &LlamaModel) {
    match model {
        LlamaModel::Scored { bpe: model, ranks } => {
            out.text("llama.cpp scored");
            bpe(out, model);
            out.list(ranks, |out, rank| out.id(*rank));
        }
        LlamaModel::Texts(model) => {
            let TextMerges { vocab: tokens, ranking, unknown, whole, merges: _ } = model;
            out.text("llama.cpp texts");
            vocab(out, tokens);
            match ranking {
                Ranking::Scores(ranks) => {
                    out.text("scores");
                    out.list(ranks, |out, rank| out.id(*rank));
                }
                Ranking::Merges(merges) => {
                    out.text("merges");
                    vocab(out, merges);
                }
            }
            out.text(match unknown {
                Unknown::EveryByte => "every byte",
                Unknown::SomeBytes => "some bytes",
                Unknown::Ascii => "ascii",
            });
            out.text(match whole {
                Whole::None => "none",
                Whole::All => "all",
                Whole::LineFeeds => "line feeds",
            });
        }
        LlamaModel::WordPiece { vocab: pieces, unk } => {
            out.text("llama.cpp bert");
            vocab(out, pieces);
            out.id(*unk);
        }
        LlamaModel::Unigram(LlamaUnigram { vocab: tokens, pieces, unk, unk_score }) => {
            out.text("llama.cpp t5");
            vocab(out, tokens);
            out.list(pieces, |out, (id, score)| {
                out.id(*id);
                out.float(*score);
            });
            out.id(*unk);
            out.float(*unk_score);
        }
        LlamaModel::Longest { vocab: tokens, bytes } => {
            out.text("llama.cpp rwkv");
            vocab(out, tokens);
            out.list(bytes, |out, (bytes, id)| {
                out.bytes(bytes);
                out.id(*id);
            });
        }
    }
}

/// By id, for files may list them in any order; texts of one id by their bytes.
fn vocab(out: &mut Canonical, vocab: &Vocab) {
    let mut entries: Vec<(u32, &str)> = vocab.iter().map(|(text, id)| (id, text)).collect();
    entries.sort_unstable();
    out.list(entries, |out, (id, text)| {
        out.id(id);
        out.text(text);
    });
}
