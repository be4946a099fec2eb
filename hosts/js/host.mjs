// The core of pywasmtok for JavaScript: Node, Deno, Bun, browsers. Nothing but WebAssembly and
// TextEncoder is needed. Written from docs/abi.md.
//
//   const core = await Core.load(bytesOfTheWasm);
//   const tokenizer = core.tokenizer(bytesOfTheFile);
//   tokenizer.encode("Hello").ids                     // Uint32Array
//   tokenizer.decode(ids)
//
// One instance serves one thread. Everything that is answered is a copy: it stays good. What a
// tokenizer does is in encoding.mjs, decoding.mjs and running.mjs; this file is what they stand on.

import * as abi from "./abi.mjs";
import { Tokenizer } from "./tokenizer.mjs";
import { TokenizerError, decoder, json } from "./wire.mjs";

export { Tokenizer, TokenizerError };

const BUILD = "pywasmtok.abi";
const STACK = 1 << 20;
// Pages of a shared memory: more than any core begins with, and what the cores declare at most.
const SMALLEST = 64;
const LARGEST = 16384;

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
    const said = options ? json(options) : new Uint8Array();
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

  /** Whether the last call left an error. */
  get failed() {
    return this.field(abi.FIELD_STATUS) !== 0;
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

  /** Of a stream or a stop, after a call that fills it. */
  state() {
    return this.bytes(abi.FIELD_STATE_PTR, this.field(abi.FIELD_STATE_LEN));
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
