// Requests of the suite, answered by hosts/js; the same for Node and for browsers.

import { TokenizerError } from "../../../hosts/js/index.mjs";

const CODES = {
  unsupported: "unsupported",
  limit_exceeded: "limit_exceeded",
  out_of_memory: "limit_exceeded",
  invalid_text: "invalid_text",
  special_token_in_text: "invalid_text",
  syntax: "invalid_template",
  runtime: "render_failed",
  raised: "raised",
  limit: "limit_exceeded",
  context: "bad_request",
  invalid_token: "invalid_token",
  bad_argument: "bad_request",
  internal: "internal",
  host: "internal",
  trap: "internal",
};

const ENCODING = ["add_special", "special"];
const DECODING = ["skip_special", "unknown", "byte_runs"];
const RENDERING = ["add_generation_prompt", "continue_final_message", "special_tokens", "kwargs", "now"];
// The options of operations, and the keys of a stop's configuration; any other is refused.
const OPTIONS = {
  load: ["fallback", "pattern", "special_tokens"],
  encode: ENCODING, encode_batch: ENCODING, count: ENCODING, segments: ENCODING,
  decode: DECODING, decode_bytes: DECODING, decode_batch: DECODING, stream_open: DECODING, stop_open: DECODING,
  render: RENDERING, encode_chat: RENDERING,
};
const CONFIG = [
  "stop_tokens", "visible_stop_tokens", "eos_tokens", "stop_sequences", "visible_stop_sequences", "min_tokens", "ignore_eos",
];

class BadRequest extends Error {}

export class Server {
  #core;
  #json;
  #read;
  #about;
  #objects = new Map();
  #last = 0;

  /** `read`: gives the bytes of a file. `json`: what has `rawJSON`. */
  constructor({ core, renderer, wasm, about, read, json = JSON }) {
    this.#core = core;
    this.#json = json;
    this.renderer = renderer;
    this.#read = read;
    this.#about = { ...about, version: core.build.version, sha256: wasm };
  }

  /** A line for a line. */
  async answer(line) {
    const { seq, op, ...fields } = this.#json.parse(line, (_, value, context) => this.#asWritten(value, context));
    return JSON.stringify({ seq, ...(await this.#answered(op, fields)) });
  }

  /** A number of a conversation is what was written: 1.0 is not 1, and 2^62 has all its digits. */
  #asWritten(value, { source }) {
    return typeof value === "number" && source !== String(value) ? this.#json.rawJSON(source) : value;
  }

  async #answered(op, fields) {
    try {
      if (!Object.hasOwn(OPERATIONS, op) && op !== "hello") throw new BadRequest(`no operation ${op}`);
      if (op === "hello") return { ok: true, ...(await this.#hello()) };
      onlyKnown(fields.options, OPTIONS[op] ?? []);
      onlyKnown(fields.config, CONFIG);
      return { ok: true, ...(await OPERATIONS[op].call(this, fields)) };
    } catch (error) {
      return { ok: false, error: codeOf(error) };
    }
  }

  async #hello() {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", this.#about.sha256));
    const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const { sha256, ...about } = this.#about;
    return {
      protocol: 1,
      implementation: { ...about, core_sha256: hex },
      ops: Object.keys(OPERATIONS),
      formats: ["tokenizer.json", "tiktoken", "tekken", "sentencepiece", "gguf", "rwkv", "vocab+merges"],
      features: [
        "offsets:char", "tokens", "type_ids", "attention_mask", "pair", "special:none", "special:raise", "special:set",
        "unknown:skip", "unknown:error", "unknown:replace", "byte_runs:eager", "stop:match", "any_id", "detect",
        "generation", "preparation",
      ],
    };
  }

  async load(path, { pattern, special_tokens }) {
    const data = await this.#read(path);
    // What is undefined is left out by JSON.stringify.
    const said = { pattern, special_tokens };
    if (!path.endsWith("vocab.json")) return this.#core.tokenizer(data, said);
    const merges = await this.#read(path.replace(/vocab\.json$/, "merges.txt"));
    return this.#core.tokenizer([{ name: "vocab.json", data }, { name: "merges.txt", data: merges }], said);
  }

  keep(object) {
    this.#objects.set(++this.#last, object);
    return this.#last;
  }

  object(number) {
    const found = this.#objects.get(number);
    if (!found) throw new BadRequest(`there is nothing with the number ${number}`);
    return found;
  }

  forget(number) {
    this.object(number);
    this.#objects.delete(number);
  }
}

const OPERATIONS = {
  async load({ path, options = {} }) {
    const tokenizer = await this.load(path, options);
    const { format, vocab_size_with_added: vocab_size } = tokenizer.info();
    return { handle: this.keep(tokenizer), served_by: "core", format, vocab_size };
  },
  unload({ handle }) {
    this.object(handle).free();
    this.forget(handle);
  },
  info({ handle }) {
    const info = this.object(handle).info();
    const special_tokens = Object.fromEntries(info.roles.map(([role, token, id]) => [role, { token, id }]));
    return { vocab_size: info.vocab_size_with_added, special_tokens };
  },
  encode({ handle, input, pair, options = {}, want = [] }) {
    const second = pair === undefined ? undefined : textOf(pair);
    const details = want.length > 0;
    const found = this.object(handle).encode(textOf(input), { pair: second, details, ...encoding(options) });
    const answer = { ids: Array.from(found.ids) };
    if (want.includes("offsets"))
      answer.offsets = answer.ids.map((_, n) => [found.offsets[2 * n], found.offsets[2 * n + 1]]);
    if (want.includes("tokens")) answer.tokens = found.tokens;
    if (want.includes("type_ids")) answer.type_ids = Array.from(found.typeIds);
    if (want.includes("attention_mask")) answer.attention_mask = Array.from(found.attentionMask);
    return answer;
  },
  encode_batch({ handle, inputs, options = {} }) {
    const found = this.object(handle).encodeBatch(inputs.map(textOf), encoding(options));
    return { ids: found.map((ids) => Array.from(ids)) };
  },
  count({ handle, input, options = {} }) {
    return { count: this.object(handle).countIds(textOf(input), encoding(options)) };
  },
  segments({ handle, segments, options = {} }) {
    return { ids: Array.from(this.object(handle).encodeSegments(segments, encoding(options))) };
  },
  decode({ handle, ids, options = {} }) {
    return { text: this.object(handle).decode(ids, decoding(options)) };
  },
  decode_bytes({ handle, ids, options = {} }) {
    const data = this.object(handle).decodeBytes(ids, decoding(options));
    return { b64: btoa(String.fromCharCode(...data)) };
  },
  decode_batch({ handle, lists, options = {} }) {
    return { texts: this.object(handle).decodeBatch(lists, decoding(options)) };
  },
  token_to_id({ handle, token }) {
    return { id: this.object(handle).tokenToId(token) };
  },
  id_to_token({ handle, id }) {
    return { token: this.object(handle).idToToken(id) };
  },
  stream_open({ handle, prompt, options = {} }) {
    return { stream: this.keep(this.object(handle).stream(prompt, decoding(options))) };
  },
  stream_push({ stream, ids }) {
    return { text: this.object(stream).push(...ids) };
  },
  stream_flush({ stream }) {
    return { text: this.object(stream).flush() };
  },
  stream_close({ stream }) {
    this.forget(stream);
  },
  stop_open({ handle, prompt, config, options = {} }) {
    return { stop: this.keep(this.object(handle).stop(config, prompt, decoding(options))) };
  },
  stop_push({ stop, id }) {
    const decoder = this.object(stop);
    return { ...decoder.push(id), ...(decoder.match ? { match: decoder.match } : {}) };
  },
  stop_flush({ stop }) {
    const decoder = this.object(stop);
    return { ...decoder.flush(), ...(decoder.match ? { match: decoder.match } : {}) };
  },
  stop_close({ stop }) {
    this.forget(stop);
  },
  render(said) {
    const { template, request, options } = rendering(said);
    return this.renderer.render(template, request, options);
  },
  encode_chat({ handle, ...said }) {
    const { template, request, options } = rendering(said);
    const segments = this.renderer.segments(template, request, options);
    return { ids: Array.from(this.object(handle).encodeSegments(segments, { addSpecial: false })) };
  },
};

function onlyKnown(said = {}, known) {
  for (const key of Object.keys(said)) if (!known.includes(key)) throw new BadRequest(`there is no ${key} here`);
}

function rendering({ template, messages, tools, documents, options = {}, want = [] }) {
  const { add_generation_prompt, special_tokens: special, kwargs, continue_final_message, now } = options;
  const request = { messages, tools, documents, add_generation_prompt, special, arguments: kwargs };
  return {
    template: textOf(template),
    // What is undefined is left out by JSON.stringify.
    request,
    options: {
      continues: continue_final_message,
      generation: want.includes("generation"),
      now: now ? new Date(now) : new Date(),
    },
  };
}

function textOf(input) {
  if (input.text !== undefined) return input.text;
  const data = Uint8Array.from(atob(input.b64), (char) => char.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new TokenizerError("invalid_text", "the bytes are no UTF-8");
  }
}

function encoding({ add_special = true, special = "all" }) {
  return { addSpecial: add_special, special };
}

function decoding({ skip_special: skipSpecial, unknown, byte_runs: byteRuns }) {
  return { skipSpecial, unknown, byteRuns };
}

function codeOf(error) {
  if (error instanceof BadRequest) return { code: "bad_request", message: error.message };
  if (!(error instanceof TokenizerError)) return { code: "internal", message: String(error) };
  const code = CODES[error.kind] ?? "invalid_model";
  return { code, message: error.message, ...(error.feature ? { feature: error.feature } : {}) };
}
