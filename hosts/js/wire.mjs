// What crosses the border: errors, text as UTF-8, numbers as little-endian bytes.

export const encoder = new TextEncoder();
// A byte order mark is a character like any other.
export const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class TokenizerError extends Error {
  constructor(kind, message, more = {}) {
    super(message);
    this.name = "TokenizerError";
    this.kind = kind;
    Object.assign(this, { path: "", feature: "", offset: null, ...more });
  }
}

/** The error for an argument that is not what it has to be. */
export function wrong(value, wanted, path = "") {
  const shown = value !== null && typeof value === "object" ? "" : `${String(value)} `;
  return new TokenizerError("bad_argument", `${shown}(${typeof value}) is no ${wanted}`, { path });
}

/** `path`: where the text is in the arguments. TextEncoder would replace half a pair silently. */
export function utf8(text, path = "") {
  if (typeof text !== "string") throw wrong(text, "text", path);
  if (!text.isWellFormed()) {
    const before = text.slice(0, text.search(/\p{Surrogate}/u));
    throw halfPair({ path, offset: encoder.encode(before).length });
  }
  return encoder.encode(text);
}

/** The UTF-8 of each text of a batch, of the segments of a text or of a pair. */
export function utf8s(texts) {
  return texts.map((text, n) => utf8(text, `texts[${n}]`));
}

function halfPair(place) {
  return new TokenizerError("invalid_text", "the text has half a surrogate pair", place);
}

/** A value as JSON; what JSON would change without an error is refused. */
export function json(value) {
  let said;
  try {
    said = JSON.stringify(value, checkedValue);
  } catch (cause) {
    if (cause instanceof TokenizerError) throw cause;
    throw new TokenizerError("bad_argument", `a value cannot be written as JSON: ${cause.message}`, { cause });
  }
  if (said === undefined) throw wrong(value, "value of JSON");
  return encoder.encode(said);
}

function checkedValue(key, value) {
  if (!key.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) throw halfPair();
  if (typeof value === "number" && !Number.isFinite(value)) throw wrong(value, `number that JSON has, at "${key}"`);
  return value;
}

/** Options as they were given, or none; the names are those that there are. */
export function options(given, ...names) {
  if (typeof (given ?? {}) !== "object") throw wrong(given, "object of options");
  for (const name of Object.keys(given ?? {}))
    if (!names.includes(name)) throw new TokenizerError("bad_argument", `no option ${name}: there are ${names.join(", ")}`);
  return given ?? {};
}

/** A whole number from 0 to `most`. Typed arrays would store another number without an error. */
export function whole(number, most = 0xffffffff) {
  if (Number.isInteger(number) && number >= 0 && number <= most) return number;
  throw wrong(number, `whole number from 0 to ${most}`);
}

/** The items of an array or of another iterable. */
export function listOf(items, what) {
  if (Array.isArray(items)) return items;
  if (typeof items === "string" || typeof items?.[Symbol.iterator] !== "function") throw wrong(items, `list of ${what}`);
  return [...items];
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
  const all = listOf(numbers, "ids");
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
