//! `tokenizer.ggml.pre`: the name that says how text is cut, and what else llama.cpp ties to it.

use super::chains::Chain;

/// One name.
#[derive(Debug, Clone, Copy)]
pub struct Pre {
    pub name: &'static str,
    pub chain: Chain,
    flags: &'static str,
    /// What the tokenizer.json of the model does, where that is known.
    pub hf: Option<Hf>,
}

/// See [`Pre::hf`].
#[derive(Debug, Clone, Copy)]
pub struct Hf {
    pub nfc: bool,
    pub chain: HfChain,
}

/// The pre-tokenizers of the tokenizer.json files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HfChain {
    ByteLevel,
    /// As llama.cpp writes it: the patterns do not differ, or only in how they are spelled.
    Same,
    Pattern(crate::split::Scanner),
    Falcon,
    /// Single digits, then `ByteLevel`.
    Digits,
}

impl Pre {
    pub fn find(name: &str) -> Option<&'static Self> {
        PRES.iter().find(|pre| pre.name == name)
    }

    /// A whole piece that is a token is one, whatever the merges say.
    pub fn ignore_merges(&self) -> bool {
        self.has("im")
    }

    pub fn add_bos(&self) -> bool {
        self.has("bos")
    }

    /// Whether decoding removes spaces before punctuation.
    pub fn clean_spaces(&self) -> bool {
        !self.has("cs0")
    }

    /// Spaces become `▁`.
    pub fn escape_spaces(&self) -> bool {
        self.has("esc")
    }

    /// Text is spelled in the alphabet of bytes.
    pub fn byte_level(&self) -> bool {
        !self.has("raw")
    }

    /// The default of the BOS token does not hold.
    pub fn clears_bos(&self) -> bool {
        self.has("nobos")
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.split(' ').any(|known| known == flag)
    }
}

const fn pre(name: &'static str, flags: &'static str, chain: Chain, hf: Option<Hf>) -> Pre {
    Pre { name, chain, flags, hf }
}

const fn plain(chain: HfChain) -> Option<Hf> {
    Some(Hf { nfc: false, chain })
}

const fn nfc(chain: HfChain) -> Option<Hf> {
    Some(Hf { nfc: true, chain })
}

use crate::split::Scanner::{Cl100k, DeepSeek3, O200k, Qwen2, Qwen35, Tekken};
use Chain::*;
use HfChain::Pattern;

/// im: ignore_merges; bos: add_bos; cs0: decoding leaves spaces alone; esc: spaces become `▁`;
/// raw: no byte alphabet; nobos: no BOS unless the file states one.
#[rustfmt::skip]
const PRES: &[Pre] = &[
    pre("default",                  "",           Default,       None),
    pre("llama3",                   "im bos",     Llama3,        plain(Pattern(Cl100k))),
    pre("llama-v3",                 "im bos",     Llama3,        plain(Pattern(Cl100k))),
    pre("llama-bpe",                "im bos",     Llama3,        plain(Pattern(Cl100k))),
    pre("falcon3",                  "im bos",     Llama3,        None),
    pre("falcon-h1",                "im bos",     Llama3,        None),
    pre("pixtral",                  "im bos",     Llama3,        None),
    pre("midm-2.0",                 "im bos",     Llama3,        None),
    pre("lfm2",                     "im bos",     Llama3,        None),
    pre("jina-v5-nano",             "im bos",     Llama3,        None),
    pre("dbrx",                     "",           Llama3,        None),
    pre("smaug-bpe",                "",           Llama3,        None),
    pre("chatglm-bpe",              "nobos",      Llama3,        None),
    pre("glm4",                     "nobos im",   Llama3,        None),
    pre("glm5",                     "nobos im",   Llama3,        None),
    pre("jais-2",                   "",           Jais2,         None),
    pre("minicpm5",                 "im",         MiniCpm5,      None),
    pre("qwen2",                    "cs0",        Qwen2Pattern,  nfc(Pattern(Qwen2))),
    pre("deepseek-r1-qwen",         "cs0",        Qwen2Pattern,  nfc(Pattern(Qwen2))),
    pre("kormo",                    "cs0",        Qwen2Pattern,  None),
    pre("f2llmv2",                  "cs0",        Qwen2Pattern,  None),
    pre("hunyuan",                  "cs0",        Qwen2Pattern,  None),
    pre("solar-open",               "cs0",        Qwen2Pattern,  None),
    pre("grok-2",                   "cs0",        Qwen2Pattern,  None),
    pre("megrez",                   "",           Qwen2Pattern,  None),
    pre("stablelm2",                "",           Qwen2Pattern,  None),
    pre("qwen35",                   "cs0",        Qwen35Pattern, nfc(Pattern(Qwen35))),
    pre("ufakzeka",                 "cs0",        Ufakzeka,      None),
    pre("seed-coder",               "cs0",        SeedCoder,     None),
    pre("bailingmoe",               "cs0",        BailingMoe,    None),
    pre("bailingmoe2",              "cs0",        BailingMoe,    None),
    pre("llada-moe",                "cs0",        BailingMoe,    None),
    pre("laguna",                   "cs0",        Laguna,        None),
    pre("exaone-moe",               "",           ExaoneMoe,     None),
    pre("gpt-2",                    "",           Gpt2,          plain(HfChain::ByteLevel)),
    pre("phi-2",                    "",           Gpt2,          plain(HfChain::ByteLevel)),
    pre("jina-es",                  "",           Gpt2,          None),
    pre("jina-de",                  "",           Gpt2,          None),
    pre("gigachat",                 "",           Gpt2,          None),
    pre("jina-v2-es",               "",           Gpt2,          None),
    pre("jina-v2-de",               "",           Gpt2,          None),
    pre("a.x-4.0",                  "",           Gpt2,          None),
    pre("mellum",                   "",           Gpt2,          None),
    pre("modern-bert",              "",           Gpt2,          nfc(HfChain::ByteLevel)),
    pre("exaone4",                  "",           Gpt2,          None),
    pre("mpt",                      "",           Gpt2,          nfc(HfChain::ByteLevel)),
    pre("olmo",                     "",           Gpt2,          nfc(HfChain::ByteLevel)),
    pre("jais",                     "",           Gpt2,          None),
    pre("jina-v1-en",               "",           Gpt2,          None),
    pre("jina-v2-code",             "",           Gpt2,          None),
    pre("roberta-bpe",              "",           Gpt2,          plain(HfChain::ByteLevel)),
    pre("trillion",                 "cs0",        Gpt2,          None),
    pre("granite-docling",          "cs0",        Gpt2,          None),
    pre("starcoder",                "",           DigitsGpt2,    plain(HfChain::Digits)),
    pre("refact",                   "",           DigitsGpt2,    plain(HfChain::Digits)),
    pre("codeshell",                "",           DigitsGpt2,    None),
    pre("exaone",                   "",           DigitsGpt2,    None),
    pre("minerva-7b",               "",           DigitsGpt2,    None),
    pre("mellum2",                  "",           DigitsGpt2,    None),
    pre("command-r",                "cs0",        DigitsGpt2,    nfc(HfChain::Digits)),
    pre("smollm",                   "cs0",        DigitsGpt2,    plain(HfChain::Digits)),
    pre("falcon",                   "",           Falcon,        plain(HfChain::Falcon)),
    pre("bloom",                    "",           Bloom,         plain(HfChain::Same)),
    pre("gpt3-finnish",             "",           Bloom,         None),
    pre("poro-chat",                "cs0",        Bloom,         plain(HfChain::Same)),
    pre("viking",                   "cs0",        Viking,        None),
    pre("deepseek-llm",             "cs0",        DeepSeekLlm,   None),
    pre("deepseek-coder",           "cs0",        DeepSeekCoder, None),
    pre("deepseek-v3",              "cs0",        DeepSeekV3,    plain(Pattern(DeepSeek3))),
    pre("hunyuan-dense",            "cs0",        DeepSeekV3,    None),
    pre("joyai-llm",                "cs0",        DeepSeekV3,    None),
    pre("hy_v4",                    "cs0",        DeepSeekV3,    None),
    pre("spark2_5",                 "cs0",        Spark25,       None),
    pre("afmoe",                    "cs0",        AfMoe,         None),
    pre("tekken",                   "im bos cs0", TekkenApprox,  plain(Pattern(Tekken))),
    pre("gpt-4o",                   "cs0",        O200kApprox,   plain(Pattern(O200k))),
    pre("llama4",                   "cs0",        O200kApprox,   plain(Pattern(O200k))),
    pre("kanana2",                  "cs0",        O200kApprox,   None),
    pre("talkie",                   "cs0",        O200kApprox,   None),
    pre("minimax-m2",               "cs0",        O200kApprox,   plain(Pattern(O200k))),
    pre("granite-embed-multi-97m",  "im cs0",     GraniteEmbed,  None),
    pre("youtu",                    "im cs0",     Youtu,         None),
    pre("tiny_aya",                 "cs0",        TinyAya,       None),
    pre("cohere2moe",               "cs0",        TinyAya,       None),
    pre("superbpe",                 "cs0",        SuperBpe,      None),
    pre("kimi-k2",                  "cs0",        KimiK2,        plain(HfChain::Same)),
    pre("chameleon",                "bos cs0",    Chameleon,     None),
    pre("gemma4",                   "esc raw",    Lines,         None),
    pre("granite-embed-multi-311m", "esc raw",    Lines,         None),
    pre("sarvam-moe",               "esc raw cs0", Lines,        None),
    pre("whitespace",               "raw",        Words,         None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_there_once_and_flags_are_known() {
        for (at, pre) in PRES.iter().enumerate() {
            assert!(PRES.iter().skip(at + 1).all(|other| other.name != pre.name), "{}", pre.name);
            for flag in pre.flags.split(' ').filter(|flag| !flag.is_empty()) {
                let known = ["im", "bos", "cs0", "esc", "raw", "nobos"];
                assert!(known.contains(&flag), "{flag}");
            }
        }
        assert_eq!(PRES.len(), 91);
    }
}
