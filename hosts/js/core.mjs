// A compiled core, which makes tokenizers. Nothing but WebAssembly and TextEncoder is needed.

import * as abi from "./abi.mjs";
import { Instance } from "./instance.mjs";
import { Tokenizer } from "./tokenizer.mjs";
import { TokenizerError, bytesOf, compiled, decoder, hasExport } from "./wire.mjs";

// A seat is the stack and the thread-local block of one worker.
const STACK = 1 << 20;
// Pages of a shared memory: more than any core begins with, and what the cores declare at most.
const SMALLEST = 64;
const LARGEST = 16384;

export class Core {
  #module;
  #memory;
  #seat;
  // With threads: the one instance of this thread. Without, each tokenizer has an instance.
  #exports;
  // With threads: a trap of one instance ends all, since they have one memory.
  #state = {};
  // What `share` reserved.
  #seats = new Set();

  constructor(module, memory, seat) {
    const [section] = WebAssembly.Module.customSections(module, "pywasmtok.abi");
    if (!section || !hasExport(module, "pwt_load_with")) throw new TokenizerError("host", "this is no core of pywasmtok");
    /** `version` of pywasmtok that the core was built from, and more. */
    this.build = JSON.parse(decoder.decode(section));
    if (this.build.abi !== abi.ABI_VERSION)
      throw new TokenizerError("host", `a core with ABI ${this.build.abi}: this host has ${abi.ABI_VERSION}`);
    this.#module = module;
    this.#memory = memory;
    this.#seat = seat;
  }

  /** `source`: the bytes of a core, or a Response that streams them. */
  static async load(source) {
    return new Core(await compiled(source));
  }

  get threaded() {
    return WebAssembly.Module.imports(this.#module).length > 0;
  }

  /**
   * For the core with threads: what one worker gets by postMessage to work on the same memory. There,
   * `Core.join(shared).attach(tokenizer.handle)` is the same tokenizer.
   */
  share() {
    if (!this.threaded) throw new TokenizerError("host", "workers need the core with threads");
    const exports = this.#instantiated();
    const stack = exports.pwt_memory_new(STACK) >>> 0;
    const tls = exports.pwt_memory_new(Math.max(1, exports.__tls_size.value)) >>> 0;
    const shared = { module: this.#module, memory: this.#memory, seat: { stack, tls } };
    this.#seats.add(shared.seat);
    if (stack && tls) return shared;
    this.release(shared);
    throw new TokenizerError("out_of_memory", "no room for a worker");
  }

  /** Frees what `share` reserved. The worker must have ended, and not during a call. */
  release(shared) {
    const exports = this.#instantiated();
    const seat = shared?.seat;
    if (!this.#seats.delete(seat)) throw new TokenizerError("bad_argument", "this core has not shared that, or it is released already");
    exports.pwt_memory_free(seat.stack);
    exports.pwt_memory_free(seat.tls);
  }

  static join({ module, memory, seat }) {
    return new Core(module, memory, seat);
  }

  /**
   * The tokenizer of a file: its bytes, or a list of `{name, data}` for files that are one together
   * (vocab.json and merges.txt). `options`: see "Load options" in docs/abi.md.
   */
  tokenizer(file, options) {
    const instance = this.#instance();
    try {
      return new Tokenizer(instance, instance.load(file, options));
    } catch (error) {
      instance.close();
      throw error;
    }
  }

  /** A tokenizer of another worker, by its `handle`. */
  attach(handle) {
    return new Tokenizer(this.#instance(), handle);
  }

  /** What a file is: `format` and `reason`. Its first 64 KiB are enough. */
  detect(startOfFile) {
    const data = bytesOf(startOfFile);
    const instance = this.#instance();
    try {
      instance.put([data]);
      return JSON.parse(instance.text(instance.count("pwt_detect", data.length)));
    } finally {
      instance.close();
    }
  }

  #instance() {
    return new Instance(this.#instantiated(), this.threaded ? this.#state : {});
  }

  #instantiated() {
    if (this.#state.lost) throw this.#state.lost;
    if (!this.threaded) return new WebAssembly.Instance(this.#module, {}).exports;
    if (this.#exports) return this.#exports;
    this.#memory ??= new WebAssembly.Memory({ initial: SMALLEST, maximum: LARGEST, shared: true });
    const { exports } = new WebAssembly.Instance(this.#module, { env: { memory: this.#memory } });
    if (this.#seat) {
      exports.__stack_pointer.value = this.#seat.stack + STACK;
      exports.__wasm_init_tls(this.#seat.tls);
    }
    this.#exports = exports;
    return exports;
  }
}
