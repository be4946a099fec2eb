// The renderer of chat templates for JavaScript. Written from "The ABI of the template renderer" in
// docs/abi.md.
//
//   const renderer = await Renderer.load(bytesOfTheWasm);
//   renderer.render(template, { messages, tools, special: { bos_token: "<s>" } }).text
//
// A template may be untrusted: `LIMITS` bounds its cost, and an instance in which a call failed is
// dropped. JavaScript has no deadline for a call: for one, render in a worker and terminate it.

import * as abi from "./template_abi.mjs";
import { TokenizerError, bound, compiled, decoder, hasExport, json, options, utf8, wrong } from "./wire.mjs";

export const LIMITS = Object.freeze({
  source: 256 << 10, chain: 200, branches: 100, nesting: 100, depth: 128, output: 8 << 20, fuel: 10_000_000,
});
// Compiled templates that are kept in an instance.
const KEPT = 128;

export class Renderer {
  #module;
  #guest = null;

  constructor(module) {
    if (!hasExport(module, "tpl_render")) throw new TokenizerError("host", "this is no renderer of pywasmtok");
    this.#module = module;
  }

  static async load(wasm) {
    return new Renderer(await compiled(wasm));
  }

  /**
   * `request`: an object of `messages`, `tools`, `documents`, `add_generation_prompt`, `special` and
   * `arguments`, or the same as JSON text, in which numbers keep every digit.
   *
   * Options: `continues` (true or the name of a field: the last message is continued), `generation`
   * (also where generation blocks came to stand), `origins` (also which characters come from where
   * in the request), both in code points; `now` (a Date), `limits`.
   */
  render(template, request, given) {
    const { continues = false, generation = false, origins = false, now = new Date(), limits }
      = options(given, "continues", "generation", "origins", "now", "limits");
    const header = { ...LIMITS, ...options(limits, ...Object.keys(LIMITS)) };
    return this.#guarded((guest) => {
      const handle = guest.compiled(utf8(template), header);
      const field = continues ? utf8(continues === true ? "content" : continues) : new Uint8Array();
      const content = typeof request === "string" ? utf8(request) : json(request);
      const flags = abi.FLAG_CLOCK | (continues ? abi.FLAG_CONTINUES : 0)
        | (generation ? abi.FLAG_GENERATION : 0) | (origins ? abi.FLAG_ORIGINS : 0);
      guest.put({ ...header, flags, now }, field, content);
      const text = guest.packed("tpl_render", handle);
      return { text, ...(generation && { generation: guest.spans() }), ...(origins && { origins: guest.origins() }) };
    });
  }

  /** The text in segments `{text, trusted}`, as a tokenizer takes them: only the template is trusted. */
  segments(template, request, given) {
    const { text, origins } = this.render(template, request, { ...given, origins: true });
    const characters = Array.from(text);
    const parts = [];
    let at = 0;
    const take = (end, trusted) => {
      if (end > at) parts.push({ text: characters.slice(at, end).join(""), trusted });
      at = end;
    };
    for (const [start, end] of origins) {
      take(start, true);
      take(end, false);
    }
    take(characters.length, true);
    return parts;
  }

  /** What traps is lost with its instance; what is an answer leaves it as it was. */
  #guarded(work) {
    this.#guest ??= new Guest(new WebAssembly.Instance(this.#module, {}));
    try {
      return work(this.#guest);
    } catch (error) {
      if (error instanceof TokenizerError) throw error;
      const guest = this.#guest;
      this.#guest = null;
      throw guest.trapped(error);
    }
  }
}

/** One instance: its input, its answer block, the templates that were compiled in it. */
class Guest {
  #exports;
  #room = 0;
  #input = 0;
  #templates = new Map();

  constructor(instance) {
    this.#exports = instance.exports;
    if (this.#exports.tpl_abi_version() !== abi.ABI_VERSION)
      throw new TokenizerError("host", "this renderer has another ABI than this host");
  }

  compiled(source, header) {
    const key = [decoder.decode(source), ...Object.values(header)].join("\0");
    const known = this.#templates.get(key);
    if (known) return known;
    if (this.#templates.size >= KEPT) this.#forget();
    this.put({ ...header, flags: abi.FLAG_STRICT }, new Uint8Array(), source);
    const handle = this.#exports.tpl_compile(this.#room) >>> 0;
    if (!handle) throw this.#error();
    this.#templates.set(key, handle);
    return handle;
  }

  #forget() {
    for (const handle of this.#templates.values()) this.#exports.tpl_drop(handle);
    this.#templates.clear();
  }

  /** The header, then a field and the content. */
  put(header, field, content) {
    const size = 4 * abi.HEADER_WORDS + field.length + content.length;
    this.#input = this.#exports.tpl_input(size) >>> 0;
    if (!this.#input) throw new TokenizerError("out_of_memory", "no room for the request");
    this.#room = size;
    const words = new Uint32Array(abi.HEADER_WORDS);
    words[abi.HEADER_FLAGS] = header.flags;
    for (const name of ["source", "chain", "branches", "nesting", "depth", "output"])
      words[abi[`HEADER_LIMIT_${name.toUpperCase()}`]] = bound(header[name], 0xffffffff);
    const fuel = bound(header.fuel, Number.MAX_SAFE_INTEGER);
    words[abi.HEADER_FUEL_LO] = fuel % 2 ** 32;
    words[abi.HEADER_FUEL_HI] = Math.floor(fuel / 2 ** 32);
    if (header.now !== undefined) words.set(clock(header.now), abi.HEADER_YEAR);
    words[abi.HEADER_FIELD_LEN] = field.length;
    words[abi.HEADER_CONTENT_LEN] = content.length;
    const memory = this.#view(this.#input, size);
    memory.set(new Uint8Array(words.buffer));
    memory.set(field, 4 * words.length);
    memory.set(content, 4 * words.length + field.length);
  }

  /** Calls a function that answers where its text lies. */
  packed(name, ...parameters) {
    const answer = this.#exports[name](...parameters, this.#room);
    if (answer === -1n) throw this.#error();
    const [address, length] = [Number(BigInt.asUintN(64, answer) >> 32n), Number(answer & 0xffffffffn)];
    return decoder.decode(this.#view(address, length));
  }

  /** Pairs of start and end, in code points. */
  spans() {
    const count = this.#answer(abi.ANSWER_SPANS_LEN);
    const data = this.#view(this.#answer(abi.ANSWER_SPANS_PTR), 8 * count).slice();
    const flat = new Uint32Array(data.buffer);
    return Array.from({ length: count }, (_, n) => [flat[2 * n], flat[2 * n + 1]]);
  }

  /** Rows of start, end and the path in the request. */
  origins() {
    const length = this.#answer(abi.ANSWER_ORIGINS_LEN);
    return length ? JSON.parse(decoder.decode(this.#view(this.#answer(abi.ANSWER_ORIGINS_PTR), length))) : [];
  }

  /** What a trap means; the guest itself may have said it. */
  trapped(error) {
    const length = this.#exports.tpl_panic_len();
    const text = new TextDecoder().decode(this.#view(this.#exports.tpl_panic_ptr() >>> 0, length).slice());
    if (this.#exports.tpl_out_of_memory()) return new TokenizerError("limit", "the render needs more memory than there is");
    if (text) return new TokenizerError("internal", text);
    // A stack that ends is an error of the host's own kind.
    if (error instanceof RangeError) return new TokenizerError("limit", "the render needs a deeper stack than there is");
    return error;
  }

  #error() {
    const kind = abi.ERROR_KINDS[this.#answer(abi.ANSWER_KIND)] ?? "internal";
    const said = (pointer, length) => decoder.decode(this.#view(this.#answer(pointer), this.#answer(length)));
    return new TokenizerError(kind, said(abi.ANSWER_TEXT_PTR, abi.ANSWER_TEXT_LEN), {
      feature: said(abi.ANSWER_FEATURE_PTR, abi.ANSWER_FEATURE_LEN),
      line: this.#answer(abi.ANSWER_LINE),
      column: this.#answer(abi.ANSWER_COLUMN),
    });
  }

  #answer(index) {
    return new DataView(this.#exports.memory.buffer).getUint32((this.#exports.tpl_answer() >>> 0) + 4 * index, true);
  }

  #view(address, length) {
    const { buffer } = this.#exports.memory;
    if (!length) return new Uint8Array();
    if (address + length > buffer.byteLength)
      throw new TokenizerError("internal", "the renderer speaks of memory that it does not have");
    return new Uint8Array(buffer, address, length);
  }
}

/** The words from `year` on: what a clock on the wall shows. */
function clock(date) {
  if (typeof date?.getTime !== "function" || Number.isNaN(date.getTime())) throw wrong(date, "valid date for now");
  return [
    date.getFullYear(), date.getMonth() + 1, date.getDate(),
    date.getHours(), date.getMinutes(), date.getSeconds(), 1000 * date.getMilliseconds(),
  ];
}
