// Tokenizers and chat templates, in Node, Deno, Bun and browsers.

export { Core } from "./core.mjs";
export { LIMITS, Renderer } from "./templates.mjs";
export { Tokenizer } from "./tokenizer.mjs";
export { TokenizerError } from "./wire.mjs";
