// Streams and stops: between two calls each is a few bytes, its state.

import * as abi from "./abi.mjs";
import { decodeFlags } from "./decoding.mjs";
import { asBytes, decoder, json } from "./wire.mjs";

export const streaming = {
  /** Text of ids that come one by one, behind those of a prompt. */
  stream(prompt = [], options) {
    const flags = decodeFlags(this, options, true);
    const data = asBytes(prompt);
    this.instance.put([data]);
    this.count("pwt_stream_new", data.length / 4, flags);
    return new Stream(this, this.instance.state());
  },

  /** A stream that ends at a stop; `config` as in docs/abi.md. */
  stop(config, prompt = [], options) {
    const flags = decodeFlags(this, options, true);
    const data = asBytes(prompt);
    const said = json(config);
    this.instance.put([data, said]);
    this.count("pwt_stop_new", data.length / 4, said.length, flags);
    return new Stop(this, said, this.instance.state());
  },
};

/** Of `push`: one id after the other, or one list of them. */
function idsOf(pushed) {
  return asBytes(pushed.length === 1 && typeof pushed[0] === "object" ? pushed[0] : pushed);
}

class Stream {
  #tokenizer;
  #state;

  constructor(tokenizer, state) {
    this.#tokenizer = tokenizer;
    this.#state = state;
  }

  push(...ids) {
    return this.#step(idsOf(ids), 0);
  }

  flush() {
    return this.#step(idsOf([]), abi.STEP_FINISH);
  }

  copy() {
    return new Stream(this.#tokenizer, this.#state);
  }

  #step(ids, flags) {
    const { instance } = this.#tokenizer;
    instance.put([ids, this.#state]);
    const length = this.#tokenizer.count("pwt_stream_step", ids.length / 4, this.#state.length, flags);
    this.#state = instance.state();
    return instance.text(length);
  }
}

class Stop {
  #tokenizer;
  #said;
  #state;
  /** What stopped the text, when something has. */
  match = null;

  /** `said`: the configuration as JSON. */
  constructor(tokenizer, said, state) {
    this.#tokenizer = tokenizer;
    this.#said = said;
    this.#state = state;
  }

  /** `kind`: text, held, stopped or stopped_with_text. */
  push(...ids) {
    return this.#step(idsOf(ids), 0);
  }

  flush() {
    return this.#step(idsOf([]), abi.STEP_FINISH);
  }

  #step(ids, flags) {
    if (this.match) return { kind: "stopped", text: "" };
    const { instance } = this.#tokenizer;
    instance.put([ids, this.#said, this.#state]);
    const sizes = [ids.length / 4, this.#said.length, this.#state.length];
    const text = instance.text(this.#tokenizer.count("pwt_stop_step", ...sizes, flags));
    this.#state = instance.state();
    const report = instance.numbers(abi.FIELD_BOUNDS_PTR, instance.field(abi.FIELD_BOUNDS_LEN));
    if (report[1] === 0) return { kind: text ? "text" : "held", text };
    this.match = this.#matched(report);
    return { kind: text ? "stopped_with_text" : "stopped", text };
  }

  #matched(report) {
    const wide = (word) => report[word + 1] * 2 ** 32 + report[word];
    const visible = report[3] === 1;
    const list = visible ? "visible_stop_sequences" : "stop_sequences";
    const string = () => JSON.parse(decoder.decode(this.#said))[list][report[2]];
    const what = report[1] === 1 ? { kind: "token", id: report[2] } : { kind: "string", string: string() };
    return { ...what, visible, token_index: report[4] === 0xffffffff ? -1 : wide(4), start: wide(6), end: wide(8) };
  }
}
