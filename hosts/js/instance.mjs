// Calls into the core, with a session of their own, and what is in its memory. Everything that is
// answered is a copy. Written from docs/abi.md.

import * as abi from "./abi.mjs";
import { TokenizerError, bytesOf, decoder, json } from "./wire.mjs";

export class Instance {
  #exports;
  #session = 0;
  // `lost` is the error of all calls after a trap or after `end`.
  #state;

  /** `state`: one object for all instances of a memory. */
  constructor(exports, state = {}) {
    this.#exports = exports;
    this.#state = state;
    if (this.#run("pwt_abi_version") !== abi.ABI_VERSION)
      throw new TokenizerError("host", "the core has another ABI than it says");
    this.open();
  }

  /** Begins a session; the one before, with its buffers, is given back. */
  open() {
    this.close();
    this.#session = this.#run("pwt_session_new") >>> 0;
    if (!this.#session) throw new TokenizerError("out_of_memory", "no session is left");
  }

  close() {
    if (this.#session && !this.#state.lost) this.call("pwt_session_free");
    this.#session = 0;
  }

  /** Gives the session and the memory back: all further calls fail. */
  end(message) {
    this.close();
    this.#state = { lost: this.#state.lost ?? new TokenizerError("host", message) };
    this.#exports = null;
  }

  /** The handle of a loaded file. */
  load(file, options = {}) {
    const files = Array.isArray(file) ? file : [{ data: file }];
    const data = files.map((one) => bytesOf(one?.data));
    const parts = Array.isArray(file) ? { parts: files.map(({ name }, n) => [name, data[n].length]) } : {};
    const said = json({ ...options, ...parts });
    this.put([...data, said]);
    const size = data.reduce((sum, { length }) => sum + length, 0);
    const handle = this.call("pwt_load_with", size, said.length);
    if (!handle) throw this.error();
    // The file stays in the buffer of its session: a new one begins small.
    this.open();
    return handle >>> 0;
  }

  /** Calls an export with this session in front. */
  call(name, ...parameters) {
    return this.#run(name, this.#session, ...parameters);
  }

  #run(name, ...parameters) {
    const exports = this.#live;
    try {
      return exports[name](...parameters);
    } catch (cause) {
      this.#state.lost = new TokenizerError("trap", this.#panic(), { cause });
      this.#exports = null;
      throw this.#state.lost;
    }
  }

  count(name, ...parameters) {
    const answer = this.call(name, ...parameters);
    if (answer < 0) throw this.error();
    return answer;
  }

  /** Gives a tokenizer back, too. */
  free(tokenizer) {
    if (!this.#state.lost) this.#run("pwt_tokenizer_free", tokenizer);
    this.end("the tokenizer was freed");
  }

  /** Whether the last call left an error. */
  get failed() {
    return this.field(abi.FIELD_STATUS) !== 0;
  }

  field(index) {
    return new DataView(this.#buffer).getUint32(this.#session + 4 * index, true);
  }

  put(parts) {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    if (size > 0x7fffffff) throw new TokenizerError("limit_exceeded", "an input of 2 GiB or more");
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

  /** After a trap: what the engine said before it gave up. */
  #panic() {
    const length = this.#exports.pwt_panic_len();
    const text = this.#view(this.#exports.pwt_panic_ptr() >>> 0, length).slice();
    return new TextDecoder().decode(text) || "out of memory";
  }

  // Memory may have grown in any call: a view is taken anew each time.
  get #buffer() {
    return this.#live.memory.buffer;
  }

  get #live() {
    if (this.#state.lost) throw this.#state.lost;
    return this.#exports;
  }

  #view(address, length) {
    if (address + length > this.#buffer.byteLength)
      throw new TokenizerError("internal", "the core speaks of memory that it does not have");
    return new Uint8Array(this.#buffer, address, length);
  }
}
