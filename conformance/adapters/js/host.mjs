// The core of pywasmtok for JavaScript: Node, Deno, Bun, browsers. Nothing but WebAssembly and
// TextEncoder is needed. Written from docs/abi.md.
//
//   const core = await Core.load(bytesOfTheWasm);
//   const tokenizer = core.tokenizer(bytesOfTheFile);
//   tokenizer.encode("Hello").ids                     // Uint32Array
//   tokenizer.decode(ids)
//
// One instance serves one thread. Everything that is answered is a copy: it stays good.

import * as abi from "./abi.mjs";

const encoder = new TextEncoder();
// A byte order mark is a character like any other.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const BUILD = "pywasmtok.abi";
const STACK = 1 << 20;
// Pages of a shared memory: more than any core begins with, and what the cores declare at most.
const SMALLEST = 64;
const LARGEST = 16384;

export class TokenizerError extends Error {
  constructor(kind, message, more = {}) {
    super(message);
    this.name = "TokenizerError";
    this.kind = kind;
    Object.assign(this, more);
  }
}

export class Core {
  #module;
  #memory;

  constructor(module, memory) {
    const [section] = WebAssembly.Module.customSections(module, BUILD);
    if (!section) throw new TokenizerError("host", "this is no core of pywasmtok");
    this.build = JSON.parse(decoder.decode(section));
    if (this.build.abi !== abi.ABI_VERSION)
      throw new TokenizerError("host", `a core with ABI ${this.build.abi}: this host has ${abi.ABI_VERSION}`);
    this.#module = module;
    this.#memory = memory;
  }

  /** `source`: the bytes of a core, or a Response that streams them. */
  static async load(source) {
    const compiled = typeof Response !== "undefined" && source instanceof Response
      ? await WebAssembly.compileStreaming(source)
      : await WebAssembly.compile(source);
    return new Core(compiled);
  }

  /** What a worker gets by postMessage to work on the same memory: `Core.join` there. */
  share() {
    return { module: this.#module, memory: this.#sharedMemory() };
  }

  static join({ module, memory }) {
    return new Core(module, memory);
  }

  get threaded() {
    return WebAssembly.Module.imports(this.#module).length > 0;
  }

  instance() {
    const imports = this.threaded ? { env: { memory: this.#sharedMemory() } } : {};
    return new Instance(new WebAssembly.Instance(this.#module, imports));
  }

  /** A tokenizer in an instance of its own. `options`: see "Load options" in docs/abi.md. */
  tokenizer(file, options) {
    return this.instance().load(file, options);
  }

  #sharedMemory() {
    this.#memory ??= new WebAssembly.Memory({ initial: SMALLEST, maximum: LARGEST, shared: true });
    return this.#memory;
  }
}

export class Instance {
  #exports;
  #session;

  constructor(instance) {
    this.#exports = instance.exports;
    if (this.#exports.pwt_abi_version() !== abi.ABI_VERSION)
      throw new TokenizerError("host", "the core has another ABI than it says");
    this.open();
  }

  /** Begins a session; the one before, with its buffers, is given back. */
  open() {
    if (this.#session) this.#exports.pwt_session_free(this.#session);
    this.#session = this.#exports.pwt_session_new() >>> 0;
    if (!this.#session) throw new TokenizerError("out_of_memory", "no session is left");
  }

  /** For a worker that shares a memory: its own stack and thread-local block, then its session. */
  static seat(instance, leader) {
    const { pwt_memory_new: reserve } = leader.exports;
    const stack = reserve(STACK) >>> 0, tls = reserve(Math.max(1, instance.exports.__tls_size.value)) >>> 0;
    if (!stack || !tls) throw new TokenizerError("out_of_memory", "no room for a worker");
    instance.exports.__stack_pointer.value = stack + STACK;
    instance.exports.__wasm_init_tls(tls);
    return new Instance(instance);
  }

  load(file, options) {
    const said = options ? encoder.encode(JSON.stringify(options)) : new Uint8Array();
    this.put(file, said);
    const handle = said.length
      ? this.call("pwt_load_with", file.length, said.length)
      : this.call("pwt_load", file.length);
    if (!handle) throw this.error();
    // The file stays in the buffer of its session: a new one begins small.
    this.open();
    return new Tokenizer(this, handle >>> 0);
  }

  detect(startOfFile) {
    this.put(startOfFile);
    return JSON.parse(this.text(this.count("pwt_detect", startOfFile.length)));
  }

  /** Calls an export with this session in front. */
  call(name, ...parameters) {
    return this.#exports[name](this.#session, ...parameters);
  }

  count(name, ...parameters) {
    const answer = this.call(name, ...parameters);
    if (answer < 0) throw this.error();
    return answer;
  }

  free(tokenizer) {
    this.#exports.pwt_tokenizer_free(tokenizer);
  }

  field(index) {
    return new DataView(this.#buffer).getUint32(this.#session + 4 * index, true);
  }

  put(...parts) {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    if (size > this.field(abi.FIELD_INPUT_CAP) && !this.call("pwt_input", size)) throw this.error();
    const input = this.#view(this.field(abi.FIELD_INPUT_PTR), size);
    let at = 0;
    for (const part of parts) {
      input.set(part, at);
      at += part.length;
    }
  }

  /** A copy of what lies at a field. */
  bytes(pointer, length) {
    return length ? this.#view(this.field(pointer), length).slice() : new Uint8Array();
  }

  numbers(pointer, count) {
    return new Uint32Array(this.bytes(pointer, 4 * count).buffer);
  }

  text(length) {
    return decoder.decode(this.bytes(abi.FIELD_TEXT_PTR, length));
  }

  error() {
    const said = (pointer, length) => decoder.decode(this.bytes(pointer, this.field(length)));
    const kind = abi.ERROR_KINDS[this.field(abi.FIELD_STATUS)] ?? "internal";
    const high = this.field(abi.FIELD_ERROR_OFFSET_HI), low = this.field(abi.FIELD_ERROR_OFFSET_LO);
    return new TokenizerError(kind, said(abi.FIELD_MESSAGE_PTR, abi.FIELD_MESSAGE_LEN), {
      path: said(abi.FIELD_PATH_PTR, abi.FIELD_PATH_LEN),
      feature: said(abi.FIELD_FEATURE_PTR, abi.FIELD_FEATURE_LEN),
      offset: high === 0xffffffff && low === 0xffffffff ? null : high * 2 ** 32 + low,
    });
  }

  /** After a trap: what the engine said before it gave up. The instance is lost. */
  panic() {
    const length = this.#exports.pwt_panic_len();
    const text = this.#view(this.#exports.pwt_panic_ptr() >>> 0, length).slice();
    return new TextDecoder().decode(text) || "out of memory";
  }

  // Memory may have grown in any call: a view is taken anew each time.
  get #buffer() {
    return this.#exports.memory.buffer;
  }

  #view(address, length) {
    if (address + length > this.#buffer.byteLength)
      throw new TokenizerError("internal", "the core speaks of memory that it does not have");
    return new Uint8Array(this.#buffer, address, length);
  }
}

export class Tokenizer {
  #instance;
  #handle;

  constructor(instance, handle) {
    this.#instance = instance;
    this.#handle = handle;
  }

  free() {
    this.#instance.free(this.#handle);
  }

  info() {
    return JSON.parse(this.#instance.text(this.#count("pwt_info")));
  }

  /** `special: "none"`: names of special tokens are text. `details`: offsets and tokens, too. */
  encode(text, { pair, addSpecial = true, special = "all", details = false } = {}) {
    const flags = encodeFlags(addSpecial, special) | (details ? abi.ENCODE_DETAILS : 0);
    const first = utf8(text);
    const second = pair === undefined ? null : utf8(pair);
    this.#instance.put(first, second ?? new Uint8Array());
    const count = second
      ? this.#count("pwt_encode_pair", first.length, second.length, flags)
      : this.#count("pwt_encode", first.length, flags);
    const ids = this.#instance.numbers(abi.FIELD_IDS_PTR, count);
    return details ? { ids, ...this.#details(count) } : { ids };
  }

  encodeBatch(texts, { addSpecial = true, special = "all" } = {}) {
    const parts = texts.map(utf8);
    const lengths = Uint32Array.from(parts, (part) => part.length);
    this.#instance.put(asBytes(lengths), ...parts);
    const count = this.#count("pwt_encode_batch", parts.length, encodeFlags(addSpecial, special));
    const ids = this.#instance.numbers(abi.FIELD_IDS_PTR, count);
    const bounds = this.#instance.numbers(abi.FIELD_BOUNDS_PTR, parts.length + 1);
    return parts.map((_, n) => ids.subarray(bounds[n], bounds[n + 1]));
  }

  decode(ids, options = {}) {
    return decoder.decode(this.#decoded(ids, decodeFlags(options)));
  }

  decodeBytes(ids, options = {}) {
    return this.#decoded(ids, decodeFlags(options) | abi.DECODE_AS_BYTES);
  }

  decodeBatch(lists, options = {}) {
    const lengths = Uint32Array.from(lists, (list) => list.length);
    this.#instance.put(asBytes(lengths), ...lists.map(asBytes));
    const length = this.#count("pwt_decode_batch", lists.length, decodeFlags(options));
    const data = this.#instance.bytes(abi.FIELD_TEXT_PTR, length);
    const bounds = this.#instance.numbers(abi.FIELD_BOUNDS_PTR, lists.length + 1);
    return lists.map((_, n) => decoder.decode(data.subarray(bounds[n], bounds[n + 1])));
  }

  tokenToId(token) {
    const data = utf8(token);
    this.#instance.put(data);
    return this.#found("pwt_token_to_id", data.length);
  }

  idToToken(id) {
    const length = this.#found("pwt_id_to_token", id);
    return length === null ? null : this.#instance.text(length);
  }

  /** Text of ids that come one by one, behind those of a prompt. */
  stream(prompt = [], options = {}) {
    this.#instance.put(asBytes(prompt));
    this.#count("pwt_stream_new", prompt.length, decodeFlags(options));
    return new Stream(this.#instance, this.#handle, this.#state());
  }

  /** A stream that ends at a stop; `config` as in docs/abi.md. */
  stop(config, prompt = [], options = {}) {
    const said = encoder.encode(JSON.stringify(config));
    this.#instance.put(asBytes(prompt), said);
    this.#count("pwt_stop_new", prompt.length, said.length, decodeFlags(options));
    return new Stop(this.#instance, this.#handle, config, said, this.#state());
  }

  #count(name, ...parameters) {
    return this.#instance.count(name, this.#handle, ...parameters);
  }

  #found(name, ...parameters) {
    const answer = this.#instance.call(name, this.#handle, ...parameters);
    if (answer >= 0) return answer;
    if (this.#instance.field(abi.FIELD_STATUS) !== 0) throw this.#instance.error();
    return null;
  }

  #decoded(ids, flags) {
    this.#instance.put(asBytes(ids));
    return this.#instance.bytes(abi.FIELD_TEXT_PTR, this.#count("pwt_decode", ids.length, flags));
  }

  #state() {
    return this.#instance.bytes(abi.FIELD_STATE_PTR, this.#instance.field(abi.FIELD_STATE_LEN));
  }

  #details(count) {
    const instance = this.#instance;
    const table = instance.bytes(abi.FIELD_TOKENS_PTR, instance.field(abi.FIELD_TOKENS_LEN));
    const view = new DataView(table.buffer);
    const tokens = [];
    for (let at = 0; tokens.length < count; ) {
      const length = view.getUint32(at, true);
      tokens.push(decoder.decode(table.subarray(at + 4, at + 4 + length)));
      at += 4 + length;
    }
    return {
      offsets: instance.numbers(abi.FIELD_OFFSETS_PTR, 2 * count),
      byteOffsets: instance.numbers(abi.FIELD_BYTE_OFFSETS_PTR, 2 * count),
      typeIds: instance.numbers(abi.FIELD_TYPE_IDS_PTR, count),
      specialMask: instance.bytes(abi.FIELD_SPECIAL_MASK_PTR, count),
      attentionMask: instance.bytes(abi.FIELD_ATTENTION_MASK_PTR, count),
      tokens,
    };
  }
}

export class Stream {
  #instance;
  #handle;
  #state;

  constructor(instance, handle, state) {
    this.#instance = instance;
    this.#handle = handle;
    this.#state = state;
  }

  push(...ids) {
    return this.#step(ids, 0);
  }

  flush() {
    return this.#step([], abi.STEP_FINISH);
  }

  copy() {
    return new Stream(this.#instance, this.#handle, this.#state);
  }

  #step(ids, flags) {
    const instance = this.#instance;
    instance.put(asBytes(ids), this.#state);
    const length = instance.count("pwt_stream_step", this.#handle, ids.length, this.#state.length, flags);
    this.#state = instance.bytes(abi.FIELD_STATE_PTR, instance.field(abi.FIELD_STATE_LEN));
    return instance.text(length);
  }
}

export class Stop {
  #instance;
  #handle;
  #config;
  #said;
  #state;
  /** What stopped the text, when something has. */
  match = null;

  constructor(instance, handle, config, said, state) {
    this.#instance = instance;
    this.#handle = handle;
    this.#config = config;
    this.#said = said;
    this.#state = state;
  }

  /** `kind`: text, held, stopped or stopped_with_text. */
  push(id) {
    return this.#step([id], 0);
  }

  flush() {
    return this.#step([], abi.STEP_FINISH);
  }

  #step(ids, flags) {
    if (this.match) return { kind: "stopped", text: "" };
    const instance = this.#instance;
    instance.put(asBytes(ids), this.#said, this.#state);
    const sizes = [ids.length, this.#said.length, this.#state.length];
    const text = instance.text(instance.count("pwt_stop_step", this.#handle, ...sizes, flags));
    this.#state = instance.bytes(abi.FIELD_STATE_PTR, instance.field(abi.FIELD_STATE_LEN));
    const report = instance.numbers(abi.FIELD_BOUNDS_PTR, instance.field(abi.FIELD_BOUNDS_LEN));
    if (report[1] === 0) return { kind: text ? "text" : "held", text };
    this.match = this.#matched(report);
    return { kind: text ? "stopped_with_text" : "stopped", text };
  }

  #matched(report) {
    const wide = (word) => report[word + 1] * 2 ** 32 + report[word];
    const visible = report[3] === 1;
    const list = visible ? "visible_stop_sequences" : "stop_sequences";
    const what = report[1] === 1 ? { kind: "token", id: report[2] } : { kind: "string", string: this.#config[list][report[2]] };
    return { ...what, visible, token_index: report[4] === 0xffffffff ? -1 : wide(4), start: wide(6), end: wide(8) };
  }
}

function encodeFlags(addSpecial, special) {
  if (special !== "all" && special !== "none") throw new TokenizerError("bad_argument", `no policy ${special}`);
  return (addSpecial ? abi.ENCODE_ADD_SPECIAL_TOKENS : 0) | (special === "none" ? abi.ENCODE_SPECIAL_IS_TEXT : 0);
}

const UNKNOWN = { skip: 0, error: abi.DECODE_UNKNOWN_IS_ERROR, replace: abi.DECODE_UNKNOWN_IS_REPLACED };

function decodeFlags({ skipSpecial = true, unknown = "skip", byteRuns = "exact" }) {
  return (skipSpecial ? abi.DECODE_SKIP_SPECIAL_TOKENS : 0) | UNKNOWN[unknown] | (byteRuns === "eager" ? abi.DECODE_EAGER_BYTE_RUNS : 0);
}

/** TextEncoder would replace half a pair silently. */
function utf8(text) {
  if (!text.isWellFormed()) throw new TokenizerError("invalid_text", "the text has half a surrogate pair");
  return encoder.encode(text);
}

function asBytes(numbers) {
  const list = numbers instanceof Uint32Array ? numbers : Uint32Array.from(numbers);
  return new Uint8Array(list.buffer, list.byteOffset, list.byteLength);
}
