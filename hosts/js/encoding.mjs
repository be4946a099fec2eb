// Text to ids. `special` says what text may become a special token:
//   "all"         what the file says (the default)
//   "none"        nothing: names of special tokens are text
//   "raise"       a text in which one would be found is refused
//   [names]       only these

import * as abi from "./abi.mjs";
import { TokenizerError, bound, decoder, json, lengths, listOf, options, utf8, utf8s, wrong } from "./wire.mjs";

const ENCODE = ["addSpecial", "special"];

export const encoding = {
  /** `details`: offsets and tokens, too. */
  encode(text, given) {
    const { pair, addSpecial = true, special = "all", details = false } = options(given, ...ENCODE, "pair", "details");
    const parts = pair === undefined ? [utf8(text)] : utf8s([text, pair]);
    const flags = encodeFlags(addSpecial, special) | (details ? abi.ENCODE_DETAILS : 0);
    const policy = policyOf(this, special);
    let count;
    if (policy) {
      count = encodeWith(this, parts, { ...policy, pair: parts.length === 2 }, flags);
    } else {
      this.instance.put(parts);
      const name = parts.length === 2 ? "pwt_encode_pair" : "pwt_encode";
      count = this.count(name, ...parts.map((part) => part.length), flags);
    }
    const ids = this.instance.numbers(abi.FIELD_IDS_PTR, count);
    return details ? { ids, ...detailsOf(this.instance, count) } : { ids };
  },

  encodeBatch(texts, given) {
    const { addSpecial = true, special = "all" } = options(given, ...ENCODE);
    const parts = utf8s(listOf(texts, "texts"));
    const flags = encodeFlags(addSpecial, special);
    const policy = policyOf(this, special);
    let count;
    if (policy) {
      count = encodeWith(this, parts, policy, flags);
    } else {
      this.instance.put([lengths(parts), ...parts]);
      count = this.count("pwt_encode_batch", parts.length, flags);
    }
    const ids = this.instance.numbers(abi.FIELD_IDS_PTR, count);
    const bounds = this.instance.numbers(abi.FIELD_BOUNDS_PTR, parts.length + 1);
    return parts.map((_, n) => ids.subarray(bounds[n], bounds[n + 1]));
  },

  /** One text of segments `{text, trusted}`: special tokens come from trusted text only. */
  encodeSegments(segments, given) {
    const { addSpecial = true, special = "all" } = options(given, ...ENCODE);
    if (special !== "all") throw wrong(special, 'policy for segments, which have their own: only "all"');
    const list = listOf(segments, "segments");
    const parts = utf8s(list.map((segment) => segment?.text));
    const policy = { trusted: list.map(({ trusted }) => trusted) };
    const count = encodeWith(this, parts, policy, encodeFlags(addSpecial, "all"));
    return this.instance.numbers(abi.FIELD_IDS_PTR, count);
  },

  /** How many ids a text has; with a limit, counting may stop at the first number above it. */
  countIds(text, given) {
    const { addSpecial = true, special = "all", limit = Infinity } = options(given, ...ENCODE, "limit");
    const most = bound(limit, 0xffffffff);
    if (policyOf(this, special)) return this.encode(text, { addSpecial, special }).ids.length;
    const data = utf8(text);
    this.instance.put([data]);
    return this.count("pwt_count", data.length, encodeFlags(addSpecial, special), most);
  },
};

function encodeFlags(addSpecial, special) {
  return (addSpecial ? abi.ENCODE_ADD_SPECIAL_TOKENS : 0) | (special === "none" ? abi.ENCODE_SPECIAL_IS_TEXT : 0);
}

/** The policies that a flag can not say; null for the others. */
function policyOf(tokenizer, special) {
  if (special === "all" || special === "none") return null;
  if (special === "raise") return { special };
  if (!Array.isArray(special)) throw wrong(special, "policy");
  const allow = special.map((name) => {
    const id = tokenizer.tokenToId(name);
    if (id === null) throw new TokenizerError("bad_argument", `no token ${name}`);
    return id;
  });
  return { special: { allow } };
}

function encodeWith(tokenizer, parts, policy, flags) {
  const said = json(policy);
  tokenizer.instance.put([lengths(parts), ...parts, said]);
  return tokenizer.count("pwt_encode_with", parts.length, said.length, flags);
}

function detailsOf(instance, count) {
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
