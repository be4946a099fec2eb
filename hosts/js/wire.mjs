// What crosses the border: errors, text as UTF-8, numbers as little-endian bytes.

export const encoder = new TextEncoder();
// A byte order mark is a character like any other.
export const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class TokenizerError extends Error {
  constructor(kind, message, more = {}) {
    super(message);
    this.name = "TokenizerError";
    this.kind = kind;
    Object.assign(this, more);
  }
}

/** TextEncoder would replace half a pair silently. */
export function utf8(text) {
  if (!text.isWellFormed()) throw new TokenizerError("invalid_text", "the text has half a surrogate pair");
  return encoder.encode(text);
}

export function json(value) {
  return encoder.encode(JSON.stringify(value));
}

export function asBytes(numbers) {
  const list = numbers instanceof Uint32Array ? numbers : Uint32Array.from(numbers);
  return new Uint8Array(list.buffer, list.byteOffset, list.byteLength);
}

/** The lengths of some parts, as a batch wants them in front. */
export function lengths(parts) {
  return asBytes(Uint32Array.from(parts, (part) => part.length));
}
