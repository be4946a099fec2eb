//! Expected values: `tokenizers` 0.23.3, `Tokenizer.from_str(...).encode(...)` of a word-level
//! tokenizer (`WhitespaceSplit`; a=0 b=1 c=2 d=3 [C]=4 [S]=5 Ġx=7 yĠ=8 Ġ=9 ĠĠz=10) with the
//! `post_processor`, `truncation` and `padding` that each test names.

use super::*;
use crate::definition::{
    Model, Side, TemplatePiece, TemplateToken, TruncationStrategy as Strategy,
};
use crate::error::ErrorKind;
use crate::oracle::bpe::byte_level_with;
use crate::vocab::Vocab;

const WORDS: [&str; 11] = ["a", "b", "c", "d", "[C]", "[S]", "[U]", "Ġx", "yĠ", "Ġ", "ĠĠz"];

fn text(words: &str) -> Encoding {
    let mut encoding = Encoding::default();
    let mut start = 0;
    for word in words.split(' ') {
        let id = WORDS.iter().position(|known| *known == word).unwrap() as u32;
        let end = start + word.chars().count() as u32;
        encoding.merge_with(
            Encoding::from_tokens(vec![id], vec![word.into()], vec![(start, end)]),
            false,
        );
        start = end + 1;
    }
    encoding
}

fn definition(steps: Option<Vec<PostProcessor>>) -> Definition {
    Definition {
        post_processor: steps,
        ..Definition::new("test", Model::Bpe(byte_level_with(Vocab::new(), vec![])))
    }
}

fn post(steps: Vec<PostProcessor>) -> Post {
    Post::new(&definition(Some(steps))).unwrap()
}

fn truncating(max_length: usize, strategy: Strategy, stride: usize, direction: Side) -> Post {
    let mut definition = definition(Some(vec![framing()]));
    definition.truncation = Some(Truncation { max_length, strategy, stride, direction });
    Post::new(&definition).unwrap()
}

fn padding(length: Option<usize>, direction: Side, multiple: Option<usize>) -> Post {
    let mut definition = definition(None);
    definition.padding = Some(Padding {
        length,
        direction,
        pad_to_multiple_of: multiple,
        pad_id: 9,
        pad_type_id: 3,
        pad_token: "P".into(),
    });
    Post::new(&definition).unwrap()
}

fn special(token: usize, type_id: u32) -> TemplatePiece {
    TemplatePiece::Special { token, type_id }
}

fn first(type_id: u32) -> TemplatePiece {
    TemplatePiece::Sequence { second: false, type_id }
}

fn second(type_id: u32) -> TemplatePiece {
    TemplatePiece::Sequence { second: true, type_id }
}

fn template(single: Vec<TemplatePiece>, pair: Vec<TemplatePiece>) -> PostProcessor {
    let token = |name: &str, ids: &[u32], tokens: &[&str]| TemplateToken {
        name: name.into(),
        ids: ids.to_vec(),
        tokens: tokens.iter().map(|token| token.to_string()).collect(),
    };
    PostProcessor::Template {
        single,
        pair,
        special_tokens: vec![
            token("[C]", &[4], &["[C]"]),
            token("[S]", &[5], &["[S]"]),
            token("multi", &[7, 8], &["m", "n"]),
        ],
    }
}

/// `[C] $A [S]`, `[C] $A [S] $B:1 [S]:1`
fn framing() -> PostProcessor {
    template(
        vec![special(0, 0), first(0), special(1, 0)],
        vec![special(0, 0), first(0), special(1, 0), second(1), special(1, 1)],
    )
}

/// `[C] $A`, `$A $B`
fn leading() -> PostProcessor {
    template(vec![special(0, 0), first(0)], vec![first(0), second(0)])
}

fn bert_step() -> PostProcessor {
    PostProcessor::Bert { sep: ("[S]".into(), 5), cls: ("[C]".into(), 4) }
}

fn roberta_step() -> PostProcessor {
    PostProcessor::Roberta {
        sep: ("[S]".into(), 5),
        cls: ("[C]".into(), 4),
        trim_offsets: true,
        add_prefix_space: true,
    }
}

fn byte_level(add_prefix_space: bool) -> PostProcessor {
    PostProcessor::ByteLevel { add_prefix_space, trim_offsets: true }
}

/// ids, type ids, special mask
type Columns<'a> = (&'a [u32], &'a [u32], &'a [u8]);

fn columns(encoding: &Encoding) -> Columns<'_> {
    let length = encoding.len();
    assert!([
        encoding.type_ids.len(),
        encoding.tokens.len(),
        encoding.offsets.len(),
        encoding.special_mask.len(),
        encoding.attention_mask.len(),
        encoding.sequence.len()
    ]
    .iter()
    .all(|&column| column == length));
    (&encoding.ids, &encoding.type_ids, &encoding.special_mask)
}

#[test]
fn without_a_post_processor_the_texts_follow_each_other() {
    let post = Post::new(&definition(None)).unwrap();
    let result = post.process(text("a b"), Some(text("c")), true).unwrap();
    assert_eq!(columns(&result), (&[0, 1, 2][..], &[0, 0, 1][..], &[0, 0, 0][..]));
    assert_eq!(result.offsets, [(0, 1), (2, 3), (0, 1)]);
    assert_eq!(result.sequence, [Some(0), Some(0), Some(1)]);
}

#[test]
fn a_template_frames_a_text() {
    let post = post(vec![framing()]);
    let result = post.process(text("a b"), None, true).unwrap();
    assert_eq!(columns(&result), (&[4, 0, 1, 5][..], &[0; 4][..], &[1, 0, 0, 1][..]));
    assert_eq!(result.tokens, ["[C]", "a", "b", "[S]"]);
    assert_eq!(result.offsets, [(0, 0), (0, 1), (2, 3), (0, 0)]);
    assert_eq!(result.attention_mask, [1; 4]);
    assert_eq!(result.sequence, [None, Some(0), Some(0), None]);
    let plain = post.process(text("a b"), None, false).unwrap();
    assert_eq!(columns(&plain), (&[0, 1][..], &[0, 0][..], &[0, 0][..]));
}

#[test]
fn a_template_frames_a_pair() {
    let result = post(vec![framing()]).process(text("a b"), Some(text("c")), true).unwrap();
    let expected = (&[4, 0, 1, 5, 2, 5][..], &[0, 0, 0, 0, 1, 1][..], &[1, 0, 0, 1, 0, 1][..]);
    assert_eq!(columns(&result), expected);
    assert_eq!(result.sequence, [None, Some(0), Some(0), None, Some(1), None]);
}

#[test]
fn a_template_may_repeat_or_drop_a_text_and_a_token_may_have_several_ids() {
    // `multi:2 $A:3 $A:1`, `$B:5 multi:2`
    let post = post(vec![template(
        vec![special(2, 2), first(3), first(1)],
        vec![second(5), special(2, 2)],
    )]);
    let single = post.process(text("a b"), None, true).unwrap();
    let expected = (&[7, 8, 0, 1, 0, 1][..], &[2, 2, 3, 3, 1, 1][..], &[1, 1, 0, 0, 0, 0][..]);
    assert_eq!(columns(&single), expected);
    assert_eq!(single.tokens, ["m", "n", "a", "b", "a", "b"]);
    assert_eq!(single.offsets, [(0, 0), (0, 0), (0, 1), (2, 3), (0, 1), (2, 3)]);
    let pair = post.process(text("a b"), Some(text("c")), true).unwrap();
    assert_eq!(columns(&pair), (&[2, 7, 8][..], &[5, 2, 2][..], &[0, 1, 1][..]));
    assert_eq!((post.frame(true), post.pair_frame(true)), (None, None));
}

#[test]
fn bert_gives_the_last_separator_the_second_type() {
    let result = post(vec![bert_step()]).process(text("a b"), Some(text("c")), true).unwrap();
    let expected = (&[4, 0, 1, 5, 2, 5][..], &[0, 0, 0, 0, 1, 1][..], &[1, 0, 0, 1, 0, 1][..]);
    assert_eq!(columns(&result), expected);
}

#[test]
fn roberta_trims_offsets_and_knows_one_type() {
    let post = post(vec![roberta_step()]);
    let result = post.process(text("a Ġx"), Some(text("Ġx c")), true).unwrap();
    let expected = (&[4, 0, 7, 5, 5, 7, 2, 5][..], &[0; 8][..], &[1, 0, 0, 1, 1, 0, 0, 1][..]);
    assert_eq!(columns(&result), expected);
    let offsets = [(0, 0), (0, 1), (3, 4), (0, 0), (0, 0), (0, 2), (3, 4), (0, 0)];
    assert_eq!(result.offsets, offsets);
    let plain = post.process(text("a"), Some(text("c")), false).unwrap();
    assert_eq!(columns(&plain), (&[0, 2][..], &[0, 0][..], &[0, 0][..]));
}

#[test]
fn byte_level_trims_offsets() {
    let words = "Ġx yĠ ĠĠz Ġx Ġ";
    let added = post(vec![byte_level(true)]).process(text(words), None, true).unwrap();
    assert_eq!(added.offsets, [(0, 2), (3, 4), (8, 9), (11, 12), (14, 14)]);
    let bare = post(vec![byte_level(false)]).process(text(words), None, true).unwrap();
    assert_eq!(bare.offsets, [(1, 2), (3, 4), (8, 9), (11, 12), (14, 14)]);
}

#[test]
fn steps_follow_each_other() {
    let result = post(vec![byte_level(false), framing()]).process(text("Ġx a"), None, true);
    assert_eq!(result.unwrap().offsets, [(0, 0), (1, 2), (3, 4), (0, 0)]);
    let result = post(vec![bert_step(), framing()]).process(text("a"), None, true).unwrap();
    assert_eq!(columns(&result), (&[4, 4, 0, 5, 5][..], &[0; 5][..], &[1, 1, 0, 1, 1][..]));
}

#[test]
fn behind_a_template_each_of_its_pieces_is_a_part() {
    let result = post(vec![framing(), bert_step()]).process(text("a"), None, true).unwrap();
    let expected =
        (&[4, 4, 5, 0, 5, 5, 5][..], &[0, 0, 0, 0, 1, 0, 1][..], &[1, 0, 1, 0, 1, 0, 1][..]);
    assert_eq!(columns(&result), expected);
    let result = post(vec![leading(), framing()]).process(text("a"), None, true).unwrap();
    assert_eq!(
        columns(&result),
        (&[4, 4, 5, 0, 5][..], &[0, 0, 0, 1, 1][..], &[1, 1, 1, 0, 1][..])
    );
    assert_eq!(result.sequence, [None, None, None, Some(0), None]);
    let result = post(vec![leading(), roberta_step()]).process(text("Ġx"), None, true).unwrap();
    assert_eq!(columns(&result), (&[4, 4, 5, 5, 7, 5][..], &[0; 6][..], &[1, 0, 1, 1, 0, 1][..]));
}

#[test]
fn where_the_reference_panics_there_is_a_typed_error() {
    let nested = post(vec![framing(), framing()]);
    assert_eq!(nested.process(text("a"), None, true).unwrap_err().kind, ErrorKind::InvalidFile);
    assert_eq!(nested.process(text("a"), None, false).unwrap().ids, [0]);
    assert_eq!((nested.frame(true), nested.frame(false)), (None, Some(&Frame::default())));
    let no_second = post(vec![template(vec![second(0)], vec![first(0), second(0)])]);
    assert_eq!(no_second.process(text("a"), None, true).unwrap_err().kind, ErrorKind::InvalidFile);
}

#[test]
fn frames_are_what_process_puts_around() {
    let chain = post(vec![byte_level(true), framing()]);
    assert_eq!(chain.frame(true), Some(&Frame { prefix: vec![4], suffix: vec![5] }));
    assert_eq!(chain.frame(false), Some(&Frame::default()));
    let pair = PairFrame { prefix: vec![4], middle: vec![5], suffix: vec![5] };
    assert_eq!(chain.pair_frame(true), Some(&pair));
    let roberta = PairFrame { prefix: vec![4], middle: vec![5, 5], suffix: vec![5] };
    assert_eq!(post(vec![roberta_step()]).pair_frame(true), Some(&roberta));
    let swapped = post(vec![template(vec![first(0)], vec![second(0), first(0)])]);
    assert_eq!(swapped.pair_frame(true), None);
    assert_eq!(truncating(9, Strategy::LongestFirst, 0, Side::Right).frame(true), None);
    assert_eq!(padding(None, Side::Right, None).frame(true), None);
}

#[test]
fn truncation_leaves_room_for_special_tokens() {
    let post = truncating(3, Strategy::LongestFirst, 0, Side::Right);
    assert_eq!(post.process(text("a b c d"), None, true).unwrap().ids, [4, 0, 5]);
    assert_eq!(post.process(text("a b c d"), None, false).unwrap().ids, [0, 1, 2]);
    let left = truncating(3, Strategy::OnlyFirst, 0, Side::Left);
    assert_eq!(left.process(text("a b c d"), None, true).unwrap().ids, [4, 3, 5]);
}

#[test]
fn longest_first_shares_the_room_of_a_pair() {
    let ids = |max_length| {
        let post = truncating(max_length, Strategy::LongestFirst, 0, Side::Right);
        post.process(text("a b c d"), Some(text("a b c")), true).unwrap().ids
    };
    assert_eq!(ids(3), [4, 5, 5]);
    assert_eq!(ids(4), [4, 0, 5, 5]);
    assert_eq!(ids(5), [4, 0, 5, 0, 5]);
    assert_eq!(ids(6), [4, 0, 1, 5, 0, 5]);
}

#[test]
fn a_limit_below_the_special_tokens_is_none() {
    for max_length in 0..=2 {
        let post = truncating(max_length, Strategy::LongestFirst, 0, Side::Right);
        let result = post.process(text("a b c d"), Some(text("a b c")), true).unwrap();
        assert_eq!(result.ids, [4, 0, 1, 2, 3, 5, 0, 1, 2, 5]);
    }
}

#[test]
fn one_sided_truncation_of_a_pair() {
    let run = |max_length, strategy| {
        truncating(max_length, strategy, 0, Side::Left)
            .process(text("a b c d"), Some(text("a b")), true)
            .map(|result| result.ids)
            .map_err(|error| error.kind)
    };
    assert_eq!(run(3, Strategy::OnlyFirst), Ok(vec![4, 5, 5]));
    assert_eq!(run(5, Strategy::OnlyFirst), Err(ErrorKind::LimitExceeded));
    assert_eq!(run(6, Strategy::OnlyFirst), Ok(vec![4, 3, 5, 0, 1, 5]));
    assert_eq!(run(8, Strategy::OnlyFirst), Ok(vec![4, 1, 2, 3, 5, 0, 1, 5]));
    assert_eq!(run(6, Strategy::OnlySecond), Err(ErrorKind::LimitExceeded));
    assert_eq!(run(8, Strategy::OnlySecond), Ok(vec![4, 0, 1, 2, 3, 5, 1, 5]));
}

#[test]
fn truncation_that_the_reference_refuses() {
    let only_second = truncating(3, Strategy::OnlySecond, 0, Side::Left);
    let error = only_second.process(text("a b c d"), None, true).unwrap_err();
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
    let stride = truncating(3, Strategy::LongestFirst, 1, Side::Right);
    let error = stride.process(text("a b c d"), None, true).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidFile);
}

#[test]
fn padding_to_a_stated_length_and_a_multiple() {
    let post = padding(Some(6), Side::Left, Some(4));
    let result = post.process(text("a b"), Some(text("c")), true).unwrap();
    let expected = (
        &[9, 9, 9, 9, 9, 0, 1, 2][..],
        &[3, 3, 3, 3, 3, 0, 0, 1][..],
        &[1, 1, 1, 1, 1, 0, 0, 0][..],
    );
    assert_eq!(columns(&result), expected);
    assert_eq!(result.attention_mask, [0, 0, 0, 0, 0, 1, 1, 1]);
}

#[test]
fn padding_of_a_batch_to_its_longest() {
    let post = padding(None, Side::Right, None);
    let mut batch = ["a", "a b c", "a b"].map(|words| {
        let alone = post.process(text(words), None, true).unwrap();
        assert_eq!(alone.len(), words.split(' ').count());
        alone
    });
    post.pad_batch(&mut batch).unwrap();
    assert_eq!(batch.map(|encoding| encoding.ids), [[0, 9, 9], [0, 1, 2], [0, 1, 9]]);
}

#[test]
fn absurd_padding_is_a_limit() {
    for (length, multiple) in [(usize::MAX, None), (3, Some(usize::MAX / 2)), (usize::MAX, Some(2))]
    {
        let post = padding(Some(length), Side::Right, multiple);
        let error = post.process(text("a"), None, true).unwrap_err();
        assert_eq!(error.kind, ErrorKind::LimitExceeded, "{length} {multiple:?}");
    }
    let harmless = padding(None, Side::Right, Some(0));
    assert_eq!(harmless.process(text("a"), None, true).unwrap().ids, [0]);
}

#[test]
fn a_template_that_explodes_is_a_limit() {
    let post = post(vec![template(vec![first(0); MAX_TOKENS / 1000], vec![])]);
    let words = "a ".repeat(1000) + "a";
    let error = post.process(text(&words), None, true).unwrap_err();
    assert_eq!(error.kind, ErrorKind::LimitExceeded);
}

#[test]
fn a_template_token_needs_as_many_texts_as_ids() {
    let mut broken = framing();
    if let PostProcessor::Template { special_tokens, .. } = &mut broken {
        special_tokens[0].tokens.clear();
    }
    let error = Post::new(&definition(Some(vec![broken]))).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
}
