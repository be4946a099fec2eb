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

/** A whole number from 0 to `most`. Typed arrays would store another number without an error. */
export function whole(number, most = 0xffffffff) {
  if (Number.isInteger(number) && number >= 0 && number <= most) return number;
  throw new TokenizerError("bad_argument", `${String(number)} (${typeof number}) is no whole number from 0 to ${most}`);
}

/** The same for a bound: a larger one, such as Infinity, is `most`. */
export function bound(number, most) {
  return whole(number > most ? most : number, most);
}

/** A list of numbers, or another iterable of them. A Uint32Array needs no check. */
export function asBytes(numbers) {
  const list = numbers instanceof Uint32Array ? numbers : checked(numbers);
  return new Uint8Array(list.buffer, list.byteOffset, list.byteLength);
}

function checked(numbers) {
  if (typeof numbers?.[Symbol.iterator] !== "function")
    throw new TokenizerError("bad_argument", `${String(numbers)} is no list of ids`);
  const all = Array.isArray(numbers) ? numbers : [...numbers];
  const list = new Uint32Array(all.length);
  for (let n = 0; n < list.length; n++) list[n] = whole(all[n]);
  return list;
}

/** The lengths of some parts, as a batch wants them in front. */
export function lengths(parts) {
  return asBytes(parts.map((part) => part.length));
}

/** The bytes of a buffer or of any view, without a copy. Buffers of other realms have another class. */
export function bytesOf(data) {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (/^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(data))) return new Uint8Array(data);
  throw new TokenizerError("bad_argument", "a file is an ArrayBuffer, or a view of one such as a Uint8Array");
}

/** Compiles the bytes of a module, or a Response that streams them. */
export async function compiled(source) {
  const streams = typeof Response !== "undefined" && source instanceof Response;
  try {
    return await (streams ? WebAssembly.compileStreaming(source) : WebAssembly.compile(source));
  } catch (cause) {
    throw new TokenizerError("host", `the module does not compile: ${cause.message}`, { cause });
  }
}

export function hasExport(module, wanted) {
  return WebAssembly.Module.exports(module).some(({ name }) => name === wanted);
}
