// Ids to text. Options: `skipSpecial` (true), and for streams `byteRuns` ("exact", "eager").
// `unknown` says what becomes of an id that does not exist: "skip", "error" or "replace". By default it
// is what the library of the format does: `tokenizers` leaves such ids out, others fail.

import * as abi from "./abi.mjs";
import { TokenizerError, asBytes, decoder } from "./wire.mjs";

const BYTE_RUNS = { exact: 0, eager: abi.DECODE_EAGER_BYTE_RUNS };
const UNKNOWN = { skip: 0, error: abi.DECODE_UNKNOWN_IS_ERROR, replace: abi.DECODE_UNKNOWN_IS_REPLACED };

// Formats whose library leaves unknown ids out.
const LENIENT = ["tokenizer.json", "vocab+merges"];

export function decodeFlags(tokenizer, { skipSpecial = true, unknown, byteRuns = "exact" }, streams = false) {
  unknown ??= LENIENT.includes(tokenizer.info().format) ? "skip" : "error";
  const runs = chosen(BYTE_RUNS, "byteRuns", byteRuns);
  return (skipSpecial ? abi.DECODE_SKIP_SPECIAL_TOKENS : 0) | chosen(UNKNOWN, "unknown", unknown) | (streams ? runs : 0);
}

function chosen(flags, option, value) {
  if (Object.hasOwn(flags, value)) return flags[value];
  throw new TokenizerError("bad_argument", `${option} is ${value}; it is one of ${Object.keys(flags).join(", ")}`);
}

export const decoding = {
  decode(ids, options = {}) {
    return decoder.decode(decoded(this, ids, decodeFlags(this, options)));
  },

  /** What the tokens are before U+FFFD replaces what is no UTF-8. */
  decodeBytes(ids, options = {}) {
    return decoded(this, ids, decodeFlags(this, options) | abi.DECODE_AS_BYTES);
  },

  decodeBatch(lists, options = {}) {
    const flags = decodeFlags(this, options);
    const parts = lists.map(asBytes);
    this.instance.put([asBytes(parts.map((part) => part.length / 4)), ...parts]);
    const length = this.count("pwt_decode_batch", lists.length, flags);
    const data = this.instance.bytes(abi.FIELD_TEXT_PTR, length);
    const bounds = this.instance.numbers(abi.FIELD_BOUNDS_PTR, lists.length + 1);
    return lists.map((_, n) => decoder.decode(data.subarray(bounds[n], bounds[n + 1])));
  },
};

function decoded(tokenizer, ids, flags) {
  const data = asBytes(ids);
  tokenizer.instance.put([data]);
  const length = tokenizer.count("pwt_decode", data.length / 4, flags);
  return tokenizer.instance.bytes(abi.FIELD_TEXT_PTR, length);
}
