// Ids to text. Options: `skipSpecial` (true), and for streams `byteRuns` ("exact", "eager").
// `unknown` says what becomes of an id that does not exist: "skip", "error" or "replace". By default it
// is what the library of the format does: `tokenizers` leaves such ids out, others fail.

import * as abi from "./abi.mjs";
import { asBytes, decoder, listOf, options, wrong } from "./wire.mjs";

const BYTE_RUNS = { exact: 0, eager: abi.DECODE_EAGER_BYTE_RUNS };
const UNKNOWN = { skip: 0, error: abi.DECODE_UNKNOWN_IS_ERROR, replace: abi.DECODE_UNKNOWN_IS_REPLACED };

// Formats whose library leaves unknown ids out.
const LENIENT = ["tokenizer.json", "vocab+merges"];

export function decodeFlags(tokenizer, given, streams = false) {
  let { skipSpecial = true, unknown, byteRuns = "exact" } = options(given, "skipSpecial", "unknown", "byteRuns");
  unknown ??= LENIENT.includes(tokenizer.info().format) ? "skip" : "error";
  const runs = chosen(BYTE_RUNS, "byteRuns", byteRuns);
  return (skipSpecial ? abi.DECODE_SKIP_SPECIAL_TOKENS : 0) | chosen(UNKNOWN, "unknown", unknown) | (streams ? runs : 0);
}

function chosen(flags, option, value) {
  if (Object.hasOwn(flags, value)) return flags[value];
  throw wrong(value, `${option}: one of ${Object.keys(flags).join(", ")}`);
}

export const decoding = {
  decode(ids, given) {
    return decoder.decode(decoded(this, ids, decodeFlags(this, given)));
  },

  /** What the tokens are before U+FFFD replaces what is no UTF-8. */
  decodeBytes(ids, given) {
    return decoded(this, ids, decodeFlags(this, given) | abi.DECODE_AS_BYTES);
  },

  decodeBatch(lists, given) {
    const flags = decodeFlags(this, given);
    const parts = listOf(lists, "lists").map(asBytes);
    this.instance.put([asBytes(parts.map((part) => part.length / 4)), ...parts]);
    const length = this.count("pwt_decode_batch", parts.length, flags);
    const data = this.instance.bytes(abi.FIELD_TEXT_PTR, length);
    const bounds = this.instance.numbers(abi.FIELD_BOUNDS_PTR, parts.length + 1);
    return parts.map((_, n) => decoder.decode(data.subarray(bounds[n], bounds[n + 1])));
  },
};

function decoded(tokenizer, ids, flags) {
  const data = asBytes(ids);
  tokenizer.instance.put([data]);
  const length = tokenizer.count("pwt_decode", data.length / 4, flags);
  return tokenizer.instance.bytes(abi.FIELD_TEXT_PTR, length);
}
