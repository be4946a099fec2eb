// Ids to text. Options: `skipSpecial` (true), and for streams `byteRuns` ("exact", "eager").
// `unknown` says what becomes of an id that does not exist: "skip", "error" or "replace". By default it
// is what the library of the format does: `tokenizers` leaves such ids out, others fail.

import * as abi from "./abi.mjs";
import { TokenizerError, asBytes, decoder, lengths } from "./wire.mjs";

const UNKNOWN = { skip: 0, error: abi.DECODE_UNKNOWN_IS_ERROR, replace: abi.DECODE_UNKNOWN_IS_REPLACED };

// Formats whose library leaves unknown ids out.
const LENIENT = ["tokenizer.json", "vocab+merges"];

export function decodeFlags(tokenizer, { skipSpecial = true, unknown, byteRuns = "exact" }) {
  unknown ??= LENIENT.includes(tokenizer.info().format) ? "skip" : "error";
  if (!Object.hasOwn(UNKNOWN, unknown))
    throw new TokenizerError("bad_argument", `unknown is ${unknown}; it is skip, error or replace`);
  return (skipSpecial ? abi.DECODE_SKIP_SPECIAL_TOKENS : 0) | UNKNOWN[unknown] | (byteRuns === "eager" ? abi.DECODE_EAGER_BYTE_RUNS : 0);
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
    this.instance.put(lengths(lists), ...lists.map(asBytes));
    const length = this.count("pwt_decode_batch", lists.length, flags);
    const data = this.instance.bytes(abi.FIELD_TEXT_PTR, length);
    const bounds = this.instance.numbers(abi.FIELD_BOUNDS_PTR, lists.length + 1);
    return lists.map((_, n) => decoder.decode(data.subarray(bounds[n], bounds[n + 1])));
  },
};

function decoded(tokenizer, ids, flags) {
  tokenizer.instance.put(asBytes(ids));
  const length = tokenizer.count("pwt_decode", ids.length, flags);
  return tokenizer.instance.bytes(abi.FIELD_TEXT_PTR, length);
}
