//! Each function against the obvious one: a list with the origin of every character.

use super::*;
use crate::marks::Taken;

type Slow = Vec<(char, Origin)>;

fn fast(slow: &[(char, Origin)]) -> Text {
    Text::from_characters(slow.iter().map(|(one, origin)| (*one, origin)))
}

fn slow(text: &Text) -> Slow {
    text.characters().collect()
}

fn plain(slow: &[(char, Origin)]) -> String {
    slow.iter().map(|(one, _)| one).collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
    }

    fn text(&mut self, most: usize) -> Slow {
        let alphabet: Vec<char> = "  \nab,é🌶ß".chars().collect();
        let mut origin = 0;
        (0..self.below(most + 1))
            .map(|_| {
                if self.below(3) == 0 {
                    origin = u32::try_from(self.below(4)).unwrap();
                }
                (alphabet[self.below(alphabet.len())], origin)
            })
            .collect()
    }
}

fn texts(mut check: impl FnMut(&mut Random, Slow)) {
    let mut random = Random(7);
    for _ in 0..3000 {
        let text = random.text(12);
        check(&mut random, text);
    }
}

/// What `str.split` does with separators, character by character.
fn split_slowly(text: &Slow, separator: &[char], most: usize) -> Vec<Slow> {
    let (mut pieces, mut at) = (vec![vec![]], 0);
    while at < text.len() {
        let here: Vec<char> = text[at..].iter().take(separator.len()).map(|one| one.0).collect();
        if here == separator && pieces.len() <= most {
            pieces.push(vec![]);
            at += separator.len();
        } else {
            pieces.last_mut().unwrap().push(text[at]);
            at += 1;
        }
    }
    pieces
}

#[test]
fn marks_carry_every_text() {
    let marks = Marks::choose(&Taken::default()).unwrap();
    texts(|_, text| {
        let fast = fast(&text);
        assert_eq!(slow(&fast), text);
        assert_eq!(fast.plain(), plain(&text));
        let marked = fast.write(marks);
        assert_eq!(Text::read(&marked, marks).unwrap(), fast);
        assert_eq!(marks.without(&marked), plain(&text));
    });
}

#[test]
fn slices_and_joins() {
    texts(|random, text| {
        let (a, b) = (random.below(text.len() + 1), random.below(text.len() + 1));
        let (from, to) = (a.min(b), a.max(b));
        let at = |place: usize| plain(&text[..place]).len();
        assert_eq!(slow(&fast(&text).slice(at(from), at(to))), text[from..to]);
        let backwards: Slow = text[from..to].iter().rev().copied().collect();
        let chosen = fast(&text).chosen((from..to).rev()).unwrap();
        assert_eq!(slow(&chosen), backwards);
        assert_eq!(fast(&text).chosen(std::iter::once(text.len())), None);
        let (other, between) = (random.text(5), random.text(3));
        let parts = [fast(&text), fast(&other), fast(&text)];
        let joined = Text::joined(&parts, &fast(&between));
        let all = [&text[..], &between, &other, &between, &text].concat();
        assert_eq!(slow(&joined), all);
    });
}

#[test]
fn stripping() {
    texts(|_, text| {
        let is_space = |one: &(char, Origin)| one.0.is_whitespace();
        let from = text.iter().position(|one| !is_space(one)).unwrap_or(text.len());
        let to = text.iter().rposition(|one| !is_space(one)).map_or(from, |at| at + 1);
        let (fast, whole) = (fast(&text), plain(&text));
        assert_eq!(slow(&fast.stripped(whole.trim()).unwrap()), text[from..to]);
        assert_eq!(slow(&fast.ending(whole.trim_start()).unwrap()), text[from..]);
        let kept = if from == text.len() { 0 } else { to };
        assert_eq!(slow(&fast.beginning(whole.trim_end()).unwrap()), text[..kept]);
        assert_eq!(fast.stripped("no such text"), None);
    });
}

#[test]
fn splitting() {
    texts(|random, text| {
        let separator = ["a", ",", " ", "ab", "\n\n"][random.below(5)];
        let most = random.below(4);
        let whole = plain(&text);
        let answers: Vec<&str> = whole.splitn(most + 1, separator).collect();
        let expected = split_slowly(&text, &separator.chars().collect::<Vec<_>>(), most);
        let pieces = fast(&text).pieces(&answers, Some(separator)).unwrap();
        assert_eq!(pieces.iter().map(slow).collect::<Vec<_>>(), expected);

        let words: Vec<&str> = whole.split_whitespace().collect();
        let expected: Vec<Slow> = text
            .split(|one| one.0.is_whitespace())
            .filter(|word| !word.is_empty())
            .map(<[_]>::to_vec)
            .collect();
        let pieces = fast(&text).pieces(&words, None).unwrap();
        assert_eq!(pieces.iter().map(slow).collect::<Vec<_>>(), expected);
    });
}

#[test]
fn replacing() {
    texts(|random, text| {
        let old = ["a", "ab", " ", "aa"][random.below(4)];
        let count = random.below(4);
        let new = random.text(3);
        let pieces = split_slowly(&text, &old.chars().collect::<Vec<_>>(), count);
        let expected = pieces.join(&new[..]);
        let answer = plain(&text).replacen(old, &plain(&new), count);
        let replaced = fast(&text).replaced(old, &fast(&new), count, &answer).unwrap();
        assert_eq!(slow(&replaced), expected);
        assert_eq!(fast(&text).replaced(old, &fast(&new), count, "something else"), None);
    });
}

#[test]
fn indenting() {
    texts(|random, text| {
        let first = random.below(2) == 0;
        let mut expected: Slow = vec![];
        let mut at_start = first;
        for one in &text {
            if at_start && one.0 != '\n' {
                expected.extend([(' ', TEMPLATE), (' ', TEMPLATE)]);
            }
            at_start = one.0 == '\n';
            expected.push(*one);
        }
        let indented = fast(&text).indented(&plain(&expected)).unwrap();
        assert_eq!(slow(&indented), expected);
    });
}

#[test]
fn letters_of_another_case() {
    let text = fast(&[('a', 1), ('ß', 2), ('é', 0)]);
    assert_eq!(text.character_by_character("ASSÉ"), None);
    let upper = text.character_by_character("AẞÉ").unwrap();
    assert_eq!(slow(&upper), [('A', 1), ('ẞ', 2), ('É', 0)]);
}
