"""Texts that have broken tokenizers before, each with why it is asked.

A probe is asked of every tokenizer. Its slug is part of the ids of cases: it is permanent.
"""

from __future__ import annotations

from typing import NamedTuple


class Probe(NamedTuple):
    slug: str
    text: str
    why: str


PROBES: tuple[Probe, ...] = (
    Probe("empty", "", "the empty text"),
    Probe("letter", "a", "one letter"),
    Probe("space", " ", "one space and nothing else"),
    Probe("words", "the cat sat on the mat", "plain words with single spaces"),
    Probe("sentence", "Hello, world! How are you?", "words, punctuation and a capital"),
    Probe("capitals", "HELLO World hELLO", "upper and lower case within words"),
    Probe("camel", "getHTTPResponseCode parseXMLFile", "case changes inside names of programs"),
    Probe("unseen-word", "qzxjvkw", "letters that no merge joins"),
    Probe("long-word", "incomprehensibilities", "one long word of several tokens"),
    # Spaces and lines.
    Probe("leading-space", " cat", "a space in front of the first word"),
    Probe("leading-spaces", "   cat", "several spaces in front of the first word"),
    Probe("trailing-space", "cat ", "a space behind the last word"),
    Probe("trailing-spaces", "cat   ", "several spaces behind the last word"),
    Probe("two-spaces", "the  cat", "two spaces between words"),
    Probe("many-spaces", "the" + " " * 17 + "cat", "a long run of spaces between words"),
    Probe("tab", "a\tb", "a tab between letters"),
    Probe("tab-before-s", "\t's", "a tab is not the optional space of a contraction"),
    Probe("newline", "a\nb", "a line feed between letters"),
    Probe("newlines", "a\n\n\nb", "several line feeds"),
    Probe("crlf", "a\r\nb\r\n", "lines that end in two characters"),
    Probe("cr", "a\rb", "a lone carriage return"),
    Probe("space-newline", "a \n b", "a line feed between spaces"),
    Probe("newline-spaces", "a\n    b", "an indented line"),
    Probe("spaces-newlines", "  \n  \n  ", "nothing but spaces and line feeds"),
    Probe("nbsp", "a\u00a0b\u00a0\u00a0c", "spaces that do not break"),
    Probe("wide-space", "a\u3000b\u2003c", "ideographic and em spaces"),
    Probe("nel", "a\u0085b", "the control character that is white space"),
    Probe("line-separator", "a\u2028b\u2029c", "separators of lines and paragraphs"),
    Probe("zero-width-space", "a\u200bb", "a space of no width is no white space"),
    Probe("bom", "\ufeffthe cat", "a byte order mark in front"),
    Probe("bom-inside", "the\ufeffcat", "a byte order mark inside"),
    Probe("vertical-tab", "a\x0bb\x0cc", "vertical tab and form feed"),
    # Numbers.
    Probe("digit", "7", "one digit"),
    Probe("digits-2", "12", "two digits"),
    Probe("digits-3", "123", "three digits"),
    Probe("digits-4", "1234", "four digits: groups of three begin to show"),
    Probe("digits-10", "1234567890", "ten digits"),
    Probe("number", "3.14159e-10", "a number with a point and an exponent"),
    Probe("thousands", "1,234,567.89", "a number in groups"),
    Probe("digits-letters", "a1b22c333", "digits between letters"),
    Probe("digit-space", "1 2  3", "digits and spaces"),
    Probe("arabic-digits", "\u0661\u0662\u0663\u0664", "digits of another script"),
    Probe("roman", "\u2167 \u2163", "Roman numerals: numbers that are no decimal digits"),
    Probe("superscript", "x\u00b2\u00b3 \u00bd", "superscripts and fractions"),
    Probe("circled", "\u2460\u2461", "digits in circles"),
    Probe("fullwidth-digits", "\uff11\uff12\uff13", "digits of full width"),
    # Contractions and punctuation.
    Probe("contraction", "don't you're I'll we've I'd I'm it's", "English contractions"),
    Probe("contraction-capital", "DON'T YOU'RE I'LL", "contractions in capitals"),
    Probe("contraction-mixed", "Don'T iT'S", "contractions in mixed case"),
    Probe("contraction-curly", "don\u2019t it\u2019s", "a typographic apostrophe"),
    Probe("contraction-long-s", "it'\u017f", "the long s folds to s where case is ignored"),
    Probe(
        "contraction-long-s-joined",
        "'\u017fa",
        "the same in front of a letter that is no part of it",
    ),
    Probe("apostrophe-start", "'tis 's", "apostrophes in front of words"),
    Probe("apostrophe-end", "cats' x'", "apostrophes behind words"),
    Probe("apostrophe-double", "a''s", "two apostrophes"),
    Probe("quotes", "\"a\" 'b' \u00abc\u00bb \u201ed\u201c", "quotation marks of several kinds"),
    Probe("punctuation", "a.b,c;d:e!f?g", "punctuation between letters"),
    Probe("punctuation-run", "...!!!???", "runs of punctuation"),
    Probe("punctuation-space", "a . b , c", "punctuation between spaces"),
    Probe("punctuation-newline", "end.\n\nNext", "punctuation before lines"),
    Probe("slashes", "a/b//c\n/d", "slashes, which one pattern joins to line feeds"),
    Probe("brackets", "(a[b]{c}<d>)", "brackets"),
    Probe("symbols", "a+b=c^d|e~f`g$h", "symbols of ASCII"),
    Probe("underscore", "snake_case __init__", "underscores"),
    Probe("hyphens", "a-b--c---d", "hyphens between letters"),
    Probe("dashes", "a\u2013b\u2014c\u2026", "dashes and an ellipsis"),
    Probe("currency", "$1 \u20ac2 \u00a33 \u00a54", "signs of currencies"),
    Probe("url", "https://example.org/a?b=c&d=%20e#f", "an address"),
    Probe("mail", "someone+tag@example.org", "a mail address"),
    Probe("code", "def f(x):\n    return x**2  # ok\n", "a piece of code"),
    Probe("json", '{"a": [1, 2.5, null], "b": "c\\n"}', "a piece of JSON"),
    Probe("markdown", "# Title\n\n- *a*\n- **b**\n", "a piece of Markdown"),
    # Letters beyond ASCII.
    Probe("accents", "na\u00efve caf\u00e9 \u00c5ngstr\u00f6m", "composed letters with accents"),
    Probe("decomposed", "nai\u0308ve cafe\u0301", "the same with combining marks"),
    Probe("mark-alone", "\u0301", "a combining mark without a letter"),
    Probe("mark-after-space", "a \u0301b", "a combining mark behind a space"),
    Probe("marks", "a\u0301\u0323\u0304b", "several combining marks on one letter"),
    Probe("marks-order", "a\u0323\u0301 a\u0301\u0323", "marks in both orders"),
    Probe("angstrom", "\u212b \u2126 \u212a", "signs that normalise to letters"),
    Probe("ligature", "\ufb01sh \ufb02oor", "ligatures that compatibility forms take apart"),
    Probe("fullwidth", "\uff28\uff45\uff4c\uff4c\uff4f", "letters of full width"),
    Probe("sharp-s", "Stra\u00dfe STRASSE \u1e9e", "the sharp s and its capital"),
    Probe(
        "dotted-i",
        "\u0130stanbul \u0131",
        "the dotted capital I, whose lower case is two characters",
    ),
    Probe(
        "final-sigma",
        "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3",
        "a capital sigma at the end of a word",
    ),
    Probe("titlecase", "\u01c5 \u01c8", "letters of title case"),
    Probe("greek", "\u03b1\u03b2\u03b3 \u0391\u0392\u0393", "Greek in both cases"),
    Probe(
        "cyrillic", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "Cyrillic words"
    ),
    Probe("arabic", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643", "Arabic words"),
    Probe(
        "arabic-marks",
        "\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627",
        "Arabic with vowel signs",
    ),
    Probe("hebrew", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "Hebrew with points"),
    Probe(
        "devanagari",
        "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
        "Devanagari: letters, signs and a virama",
    ),
    Probe(
        "thai",
        "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
        "Thai: no spaces between words",
    ),
    Probe("han", "\u4f60\u597d\u4e16\u754c", "Chinese words"),
    Probe("han-mixed", "\u4f60\u597dworld\u4e16\u754c123", "Chinese between letters and digits"),
    Probe("han-punctuation", "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "Chinese punctuation"),
    Probe("han-rare", "\U00020000\U0002a6d6", "Chinese beyond the basic plane"),
    Probe("kana", "\u3053\u3093\u306b\u3061\u306f\u30ab\u30bf\u30ab\u30ca", "both kinds of kana"),
    Probe(
        "kana-voiced",
        "\u304b\u3099\u304c \uff76\uff9e",
        "voiced marks: combining, composed, of half width",
    ),
    Probe("hangul", "\uc548\ub155\ud558\uc138\uc694", "Korean syllables"),
    Probe("jamo", "\u1112\u1161\u11ab", "Korean letters that compose to a syllable"),
    Probe("compatibility-han", "\uf900\uf901", "Chinese characters that normalise to others"),
    # Emoji, private use, what is not assigned.
    Probe("emoji", "\U0001f600 a\U0001f336b", "emoji between letters"),
    Probe(
        "emoji-zwj", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "a family: emoji with joiners"
    ),
    Probe("emoji-skin", "\U0001f44d\U0001f3fd", "an emoji with a colour of skin"),
    Probe("emoji-selector", "\u2764\ufe0f \u2764", "a heart with and without its selector"),
    Probe("flags", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "flags: pairs of letters"),
    Probe("keycap", "1\ufe0f\u20e3", "a digit in a key"),
    Probe("math-letters", "\U0001d4b3\U0001d7d8", "letters and digits of mathematics"),
    Probe("private-use", "\ue000\uf8ff\U0010fffd", "characters of private use"),
    Probe("not-assigned", "\u0378\U000e0080", "characters that are none"),
    Probe("noncharacter", "\ufffe\uffff", "code points that never become characters"),
    Probe("replacement", "a\ufffdb", "a replacement character that was written"),
    Probe("nul", "a\x00b", "the character of number zero"),
    Probe("controls", "a\x01\x02\x1f\x7fb", "control characters"),
    Probe("soft-hyphen", "co\u00adoperate", "a hyphen that is not shown"),
    Probe("direction", "a\u202eb\u202cc", "characters that turn the direction"),
    Probe("tags", "a\U000e0061\U000e007fb", "tag characters"),
    # What looks like parts of a vocabulary.
    Probe("metaspace", "\u2581a\u2581\u2581b", "the character that stands for a space"),
    Probe("byte-letter", "\u0120a \u010a", "letters that stand for bytes"),
    Probe("byte-token", "<0x0A> <0xE4>", "text that looks like a byte token"),
    Probe("hashes", "##ing a##b", "text that looks like the inside of a word"),
    Probe("word-end", "a</w>b", "text that looks like the end of a word"),
    Probe("unk-text", "<unk> [UNK] <s>", "text that looks like special tokens"),
    Probe("chat-marks", "<|im_start|>user<|im_end|>", "text that looks like the marks of a chat"),
    Probe("half-marks", "<|im_ start|> <|", "marks that are broken"),
)

# Asked of the main files only. `PROBES` does not grow any more: batches and round trips count in it.
RARE: tuple[Probe, ...] = (
    Probe("rare-spaces", "a\u1680b\u202fc\u205fd", "spaces of few scripts"),
    Probe(
        "separators", "a\x1cb\x1d c\x1e\x1fd", "control characters that some take for white space"
    ),
    Probe("unseen", "a\u180eb\u2060c \u2764\ufe0e d\U000e0100e", "characters that are not shown"),
    Probe("noncharacter-high", "a\U0001ffffb", "a code point that never becomes a character"),
    Probe("old-jamo", "\ua960\u1161 \u1112\u1161\ud7cb", "Korean letters of old texts"),
    Probe(
        "rare-case", "\uab70\u13a0 \u1c90\u10d0 \u01f1 \u2de0a", "letters with a rare other case"
    ),
    Probe("far-digits", "1\U00011066\U00011067 \U00010d30a", "digits beyond the basic plane"),
    Probe("nul-end", "a\x00", "the character of number zero at the end"),
)

# What is asked of a tokenizer that is a variant of another one: one probe of each kind.
SHORT = frozenset(
    (
        *("empty", "letter", "space", "words", "sentence", "unseen-word"),
        *("leading-spaces", "trailing-space", "two-spaces", "many-spaces", "tab-before-s"),
        *("newlines", "crlf", "space-newline", "spaces-newlines", "nbsp"),
        *("digits-4", "digits-letters", "superscript", "contraction"),
        *("punctuation-run", "punctuation-space"),
        *("symbols", "code", "accents", "decomposed", "marks", "ligature"),
        *("fullwidth", "dotted-i", "han-mixed", "kana-voiced", "jamo", "emoji-zwj", "replacement"),
        *("nul", "controls", "metaspace", "byte-token", "unk-text"),
    )
)

# Texts that a recipe unfolds: a case holds the recipe.
LONG: tuple[tuple[str, str, int, str], ...] = (
    ("letter-100k", "a", 100_000, "one letter a hundred thousand times"),
    ("space-100k", " ", 100_000, "spaces and nothing else"),
    ("newline-100k", "\n", 100_000, "line feeds and nothing else"),
    ("digits-100k", "1234567890", 10_000, "a number of a hundred thousand digits"),
    ("punctuation-100k", "=-", 50_000, "two signs in turn"),
    ("han-50k", "\u4f60\u597d", 25_000, "Chinese without a place to cut"),
    ("marks-50k", "\u0301", 50_000, "combining marks and nothing else"),
    ("words-20k", "the cat ", 20_000, "many words"),
    ("emoji-10k", "\U0001f469\u200d", 10_000, "emoji and joiners"),
)
