// Tokenizers and chat templates, in Node, Deno, Bun and browsers.

export { Core, Tokenizer, TokenizerError } from "./host.mjs";
export { LIMITS, Renderer } from "./templates.mjs";
