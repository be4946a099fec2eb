//! How llama.cpp cuts text, as steps that mean the same here.
//!
//! Its patterns are written for `std::regex`, over a text in which every character beyond ASCII
//! stands as its general category, or as itself where the pattern names no category. So `\d` and
//! `\b` know ASCII only; `\p{Lu}` and its kin are all `\p{L}`; and in patterns without categories
//! white space beyond ASCII is `\s` and nothing else, whatever ranges it lies in.

use super::pre::HfChain;
use crate::definition::llama::LlamaSplit;
use crate::definition::{Pattern, PreTokenizer, SplitBehavior};
use crate::split::Scanner;

/// The chains of steps; their names are those of the first model that had them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    Default,
    Llama3,
    Jais2,
    MiniCpm5,
    Qwen2Pattern,
    Qwen35Pattern,
    Ufakzeka,
    SeedCoder,
    BailingMoe,
    Laguna,
    ExaoneMoe,
    Gpt2,
    DigitsGpt2,
    Falcon,
    Bloom,
    Viking,
    DeepSeekLlm,
    DeepSeekCoder,
    DeepSeekV3,
    Spark25,
    AfMoe,
    TekkenApprox,
    O200kApprox,
    GraniteEmbed,
    Youtu,
    TinyAya,
    SuperBpe,
    KimiK2,
    Chameleon,
    Lines,
    Words,
}

/// Contractions in any case of ASCII.
const C: &str = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])";
/// What stands for `\p{L}` but for lower, or upper, case of ASCII.
const UPPER: &str = r"[\p{L}&&[^a-z]]";
const LOWER: &str = r"[\p{L}&&[^A-Z]]";
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const PUNCTUATION: &str = r"[\p{P}\$\+<=>\^~\|]+";
const THREE: &str = "[0-9][0-9][0-9]";
const HAN_KANA: &str = "[一-龥\u{3040}-ゟ゠-ヿ]+";
const BLOOM: &str = r" ?[^(\s|.,!?…。，、।۔،)]+";
const LINES: &str = r"[^\n]+|[\n]+";
const WIDE_HAN: &str = r"[[一-龥\x{800}-一가-\x{D7FF}]&&[^\s]]+";
const DEEPSEEK: &str = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
/// Single line breaks, which punctuation does not take along.
const SPARK: &str = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+|[\r\n]|\\s+(?!\\S)|\\s+";
/// The cased letters that DeepSeek lists.
const CASED: &str = r"[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]";
/// Scripts without spaces, as AFMoE lists them.
const UNSPACED: &str = r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+";
const YOUTU: &str = r"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\x{3040}-ゟ゠-ヿ]+";
/// Chinese by blocks, as the code for Kimi has them.
const HAN: &str = r"\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}\x{2CEB0}-\x{2EBEF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}";

/// Qwen's pattern with the given words, numbers and white space.
fn qwen(contractions: &str, words: &str, numbers: &str, spaces: &str) -> String {
    format!(
        r"{contractions}[^\r\n\p{{L}}\p{{N}}]?{words}|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{spaces}"
    )
}

/// o200k's pattern with the given classes.
fn o200k(upper: &str, lower: &str, contractions: &str, numbers: &str) -> String {
    let head = r"[^\r\n\p{L}\p{N}]?";
    format!(
        r"{head}{upper}*{lower}+{contractions}|{head}{upper}+{lower}*{contractions}|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
}

const SPACES: &str = r"\s*[\r\n]+|\s+(?!\S)|\s+";

impl Chain {
    /// The steps before the spelling of bytes.
    pub fn steps(self) -> Vec<PreTokenizer> {
        let c = format!("{C}|");
        let optional_c = format!("{C}?");
        let marked = r"[\p{L}\p{M}]";
        let patterns: Vec<String> = match self {
            Self::Default => vec![PUNCTUATION.into(), GPT2.into(), r"\p{N}+".into(), THREE.into()],
            Self::Llama3 => vec![qwen(&c, r"\p{L}+", r"\p{N}{1,3}", SPACES)],
            Self::Jais2 => {
                let tail = r"\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}";
                vec![qwen(&c, r"\p{L}+", r"\p{N}{1,3}", tail)]
            }
            Self::MiniCpm5 => {
                vec![r"\p{N}{1,3}".into(), qwen(&c, r"\p{L}+", r"\p{N}+", SPACES)]
            }
            Self::Qwen2Pattern => vec![qwen(&c, r"\p{L}+", r"\p{N}", SPACES)],
            Self::Qwen35Pattern => vec![format!(
                r"{C}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{SPACES}"
            )],
            Self::Ufakzeka => vec![qwen("", r"\p{L}+", r"\p{N}", SPACES)],
            Self::SeedCoder => vec![format!(
                r"{C}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{SPACES}"
            )],
            Self::BailingMoe => {
                let contractions = "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|";
                vec![qwen(contractions, r"\p{L}+", r"\p{N}", r"\s*[\r\n]|\s+(?!\S)|\s+")]
            }
            Self::Laguna => vec![LINES.into(), qwen(&c, r"\p{L}+", r"\p{N}", SPACES)],
            Self::ExaoneMoe => vec![format!(
                r"{C}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
            )],
            Self::Gpt2 => vec![GPT2.into()],
            Self::DigitsGpt2 => vec![r"\p{N}".into(), GPT2.into()],
            Self::Falcon => vec![r"[\p{P}\$\+<=>\^~\|`]+".into(), GPT2.into(), THREE.into()],
            Self::Bloom => vec![BLOOM.into()],
            Self::Viking => vec![BLOOM.into(), r"\p{N}".into()],
            Self::DeepSeekLlm => vec![
                "[\r\n]".into(),
                format!(r"\s?{CASED}+"),
                r"\s?[!-/:-~！-／：-～‘-‟\x{3001}-。]+".into(),
                r"\s+\z".into(),
                WIDE_HAN.into(),
                r"\p{N}+".into(),
            ],
            Self::DeepSeekCoder => vec![
                "[\r\n]".into(),
                r"\s?\p{L}+".into(),
                r"\s?\p{P}+".into(),
                WIDE_HAN.into(),
                r"\p{N}".into(),
            ],
            Self::DeepSeekV3 => vec![r"\p{N}{1,3}".into(), HAN_KANA.into(), DEEPSEEK.into()],
            Self::Spark25 => {
                vec![r"\p{N}{1,3}".into(), HAN_KANA.into(), SPARK.into(), r"\p{N}".into()]
            }
            Self::AfMoe => vec![UNSPACED.into(), DEEPSEEK.into()],
            Self::TekkenApprox => vec![o200k(UPPER, LOWER, "", r"\p{N}")],
            Self::O200kApprox => vec![o200k(UPPER, LOWER, &optional_c, r"\p{N}{1,3}")],
            Self::GraniteEmbed => vec![o200k(
                r"[[\p{L}\p{M}]&&[^a-z]]",
                r"[[\p{L}\p{M}]&&[^A-Z]]",
                &optional_c,
                r"\p{N}{1,3}",
            )],
            Self::Youtu => vec![YOUTU.into(), o200k(marked, marked, &optional_c, r"\p{N}")],
            Self::TinyAya => vec![o200k(marked, marked, &optional_c, r"\p{N}{1,3}")],
            Self::SuperBpe => vec![r"\p{N}+".into()],
            Self::KimiK2 => vec![format!(
                r"[{HAN}]+|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}&&[^{HAN}]]+{optional_c}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"
            )],
            Self::Chameleon => vec![
                "<sentinel:[0-9]+>".into(),
                "(?:IMGIMG)(?:[A-I]{1,4})Z".into(),
                "(?:[\\t\\n]|    |  )".into(),
                r"\p{N}".into(),
                r"[\p{P}!-/:-@\[-`{-~]".into(),
                GPT2.into(),
            ],
            Self::Lines => vec![LINES.into()],
            Self::Words => vec![r"\S+".into()],
        };
        let split = |regex: String| PreTokenizer::Split {
            pattern: Pattern::Regex(regex),
            behavior: SplitBehavior::Isolated,
            invert: false,
        };
        let first = match self {
            Self::AfMoe | Self::TinyAya => Some(PreTokenizer::Llama(LlamaSplit::NumbersInThrees)),
            _ => None,
        };
        let last = match self {
            Self::SuperBpe => Some(PreTokenizer::Llama(LlamaSplit::DigitsInThrees)),
            _ => None,
        };
        first.into_iter().chain(patterns.into_iter().map(split)).chain(last).collect()
    }
}

pub const SPELL_BYTES: PreTokenizer =
    PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: false };

impl HfChain {
    /// The pre-tokenizer of the tokenizer.json, whose llama.cpp chain is `chain`.
    pub fn steps(self, chain: Chain) -> Vec<PreTokenizer> {
        let byte_level = PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: true };
        let split = |regex: &str| PreTokenizer::Split {
            pattern: Pattern::Regex(regex.to_owned()),
            behavior: SplitBehavior::Isolated,
            invert: false,
        };
        match self {
            Self::ByteLevel => vec![byte_level],
            Self::Same => chain.steps().into_iter().chain([SPELL_BYTES]).collect(),
            Self::Pattern(Scanner::DeepSeek3) => {
                vec![split(r"\p{N}{1,3}"), split(HAN_KANA), split(DEEPSEEK), SPELL_BYTES]
            }
            Self::Pattern(scanner) => {
                scanner.pattern().into_iter().map(split).chain([SPELL_BYTES]).collect()
            }
            Self::Falcon => vec![
                PreTokenizer::Punctuation { behavior: SplitBehavior::Contiguous },
                byte_level,
                PreTokenizer::Digits { individual: false },
                split(THREE),
            ],
            Self::Digits => vec![PreTokenizer::Digits { individual: true }, byte_level],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::PreTokenizers;
    use crate::text::AlignedText;

    const ALL: [Chain; 31] = [
        Chain::Default,
        Chain::Llama3,
        Chain::Jais2,
        Chain::MiniCpm5,
        Chain::Qwen2Pattern,
        Chain::Qwen35Pattern,
        Chain::Ufakzeka,
        Chain::SeedCoder,
        Chain::BailingMoe,
        Chain::Laguna,
        Chain::ExaoneMoe,
        Chain::Gpt2,
        Chain::DigitsGpt2,
        Chain::Falcon,
        Chain::Bloom,
        Chain::Viking,
        Chain::DeepSeekLlm,
        Chain::DeepSeekCoder,
        Chain::DeepSeekV3,
        Chain::Spark25,
        Chain::AfMoe,
        Chain::TekkenApprox,
        Chain::O200kApprox,
        Chain::GraniteEmbed,
        Chain::Youtu,
        Chain::TinyAya,
        Chain::SuperBpe,
        Chain::KimiK2,
        Chain::Chameleon,
        Chain::Lines,
        Chain::Words,
    ];

    fn cut(chain: Chain, text: &str) -> Vec<String> {
        let steps = PreTokenizers::new(&chain.steps()).unwrap();
        let pieces = steps.apply(vec![AlignedText::new(text, 0, false)]).unwrap();
        pieces.into_iter().map(|piece| piece.as_str().to_owned()).collect()
    }

    #[test]
    fn every_chain_cuts_and_loses_nothing() {
        let text =
            " I'LL pay 1234567€ — 你好,ſ'ſ\u{3000}x\n\n  've été <sentinel:7> IMGIMGABZ ١٢٣٤ ~é";
        for chain in ALL {
            assert_eq!(cut(chain, text).concat(), text, "{chain:?}");
            assert_eq!(cut(chain, ""), [""; 0], "{chain:?}");
        }
    }

    #[test]
    fn the_frequent_chains_have_a_scanner() {
        for chain in [Chain::Llama3, Chain::Qwen2Pattern, Chain::Qwen35Pattern, Chain::Gpt2] {
            let steps = chain.steps();
            let [PreTokenizer::Split { pattern: Pattern::Regex(regex), .. }] = &steps[..] else {
                panic!("{chain:?}")
            };
            assert!(Scanner::recognise(regex).is_some(), "{chain:?}");
        }
    }

    /// Each worked through by hand, along the code that llama.cpp runs.
    #[test]
    fn chains_cut_as_they_are_meant_to() {
        let cases: &[(Chain, &str, &[&str])] = &[
            (Chain::Default, "a$$ 1234b", &["a", "$$", " ", "123", "4", "b"]),
            (Chain::Llama3, "x'ſabc'S", &["x", "'ſabc", "'S"]),
            (Chain::Jais2, "a       b", &["a", "    ", "  ", " b"]),
            (Chain::MiniCpm5, "a12345 6", &["a", "123", "45", " ", "6"]),
            (Chain::Ufakzeka, "Ali'den", &["Ali", "'den"]),
            (Chain::SeedCoder, "a!!\n\nb", &["a", "!!", "\n\n", "b"]),
            (Chain::BailingMoe, "a\n\nb'S", &["a", "\n\n", "b", "'S"]),
            (Chain::Laguna, "a!\n\nb", &["a", "!", "\n\n", "b"]),
            (Chain::ExaoneMoe, "ab cd 1", &["ab cd", " ", "1"]),
            (Chain::DigitsGpt2, "a 12 b", &["a", " ", "1", "2", " b"]),
            (Chain::Falcon, "a`` 1234", &["a", "``", " ", "123", "4"]),
            (Chain::Bloom, "a b, c", &["a", " b", ",", " c"]),
            (Chain::Viking, "ab12, c", &["ab", "1", "2", ",", " c"]),
            (
                Chain::DeepSeekLlm,
                "a b! 12\u{3000}你",
                &["a", " b", "!", " ", "12", "\u{3000}", "你"],
            ),
            (Chain::DeepSeekCoder, "a 你好,12", &["a", " ", "你好", ",", "1", "2"]),
            (Chain::Spark25, "a!!\n\nb", &["a", "!!", "\n", "\n", "b"]),
            (Chain::AfMoe, "a  1234 56", &["a", " ", " ", "1", "234", " ", "56"]),
            (Chain::TinyAya, "1234567a", &["1", "234", "567", "a"]),
            (Chain::SuperBpe, "a1234567b", &["a", "1", "234", "567", "b"]),
            (Chain::KimiK2, "abc你好def's", &["abc", "你好", "def's"]),
            (Chain::O200kApprox, "ABcD éÉ's", &["ABc", "D", " éÉ's"]),
            (Chain::TekkenApprox, "HELLOworld's 12", &["HELLOworld", "'s", " ", "1", "2"]),
            (Chain::Youtu, "한국，中ab12", &["한국", "，", "中", "ab", "1", "2"]),
            (Chain::Chameleon, "IMGIMGABZ x!", &["IMGIMGABZ", " x", "!"]),
            (Chain::Lines, "a b\n\nc", &["a b", "\n\n", "c"]),
            (Chain::Words, "a  b", &["a", "  ", "b"]),
        ];
        for (chain, text, expected) in cases {
            assert_eq!(cut(*chain, text), *expected, "{chain:?} on {text:?}");
        }
    }
}
