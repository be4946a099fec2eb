// A tokenizer: one file, for one thread. Its methods come area by area.

import { decoding } from "./decoding.mjs";
import { encoding } from "./encoding.mjs";
import { streaming } from "./streaming.mjs";
import { utf8, whole } from "./wire.mjs";

export class Tokenizer {
  #info;

  constructor(instance, handle) {
    this.instance = instance;
    this.handle = handle;
  }

  /** Gives its memory back. With threads, it is gone for all workers. */
  free() {
    this.instance.free(this.handle);
  }

  /** With threads: gives back what this worker has of it. Other workers keep the tokenizer. */
  detach() {
    this.instance.end("the tokenizer was detached");
  }

  /** What docs/abi.md says of `pwt_info`. */
  info() {
    this.#info ??= JSON.parse(this.instance.text(this.count("pwt_info")));
    return this.#info;
  }

  /** Null for a token that does not exist. */
  tokenToId(token) {
    const data = utf8(token);
    this.instance.put([data]);
    return this.found("pwt_token_to_id", data.length);
  }

  idToToken(id) {
    const length = this.found("pwt_id_to_token", whole(id));
    return length === null ? null : this.instance.text(length);
  }

  /** Calls a function that answers a number. */
  count(name, ...parameters) {
    return this.instance.count(name, this.handle, ...parameters);
  }

  /** The same where a negative answer may also mean that there is no such thing. */
  found(name, ...parameters) {
    const answer = this.instance.call(name, this.handle, ...parameters);
    if (answer >= 0) return answer;
    if (this.instance.failed) throw this.instance.error();
    return null;
  }
}

Object.assign(Tokenizer.prototype, encoding, decoding, streaming);
