// @huggingface/tokenizers as an adapter: its `Tokenizer` as it is, without the files beside it.

import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { Tokenizer } from "@huggingface/tokenizers";

// Libraries write to the console; standard output is for answers.
console.log = console.info = console.warn = console.error;

class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const handles = new Map();
let last = 0;

const tokenizer = (handle) => {
  if (!handles.has(handle)) throw new Refusal("bad_request", `there is no handle ${handle}`);
  return handles.get(handle);
};

const textOf = (input) => {
  if (input.text !== undefined) return input.text;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(input.b64, "base64"));
  } catch (error) {
    throw new Refusal("invalid_text", error.message);
  }
};

const OPTIONS = {
  load: ["fallback", "pattern", "special_tokens"],
  encode: ["add_special", "special"],
  encode_batch: ["add_special", "special"],
  decode: ["skip_special", "unknown", "byte_runs"],
  decode_batch: ["skip_special", "unknown", "byte_runs"],
};

const onlyKnown = (op, options = {}) => {
  for (const key of Object.keys(options))
    if (!(OPTIONS[op] ?? []).includes(key)) throw new Refusal("bad_request", `there is no option ${key}`);
};

const withSpecial = (options = {}) => ({ add_special_tokens: options.add_special ?? true });

// Where it has no token for a part of a text it gives `undefined`, which JSON can not say.
const whole = (ids) => {
  if (ids.some((id) => !Number.isInteger(id))) throw new Error(`no id: ${ids}`);
  return ids;
};

const operations = {
  load({ path }) {
    const file = readFileSync(path);
    let made;
    try {
      made = new Tokenizer(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(file)), {});
    } catch (error) {
      const unsupported = /unknown|unsupported|not supported/i.test(error.message);
      throw new Refusal(unsupported ? "unsupported" : "invalid_model", `${error.name}: ${error.message}`);
    }
    handles.set(++last, made);
    return { handle: last, served_by: "core", format: "tokenizer.json", vocab_size: made.get_vocab(true).size };
  },
  unload({ handle }) {
    tokenizer(handle);
    handles.delete(handle);
    return {};
  },
  info: ({ handle }) => ({ vocab_size: tokenizer(handle).get_vocab(true).size }),
  encode({ handle, input, pair, options, want = [] }) {
    const text_pair = pair === undefined ? null : textOf(pair);
    const { ids, tokens } = tokenizer(handle).encode(textOf(input), { ...withSpecial(options), text_pair });
    return want.includes("tokens") ? { ids: whole(ids), tokens } : { ids: whole(ids) };
  },
  encode_batch({ handle, inputs, options }) {
    return { ids: inputs.map((input) => whole(tokenizer(handle).encode(textOf(input), withSpecial(options)).ids)) };
  },
  // The library refuses an empty list; the suite asks for the text of no ids.
  decode({ handle, ids, options = {} }) {
    const skip_special_tokens = options.skip_special ?? true;
    return { text: ids.length ? tokenizer(handle).decode(ids, { skip_special_tokens, clean_up_tokenization_spaces: false }) : "" };
  },
  decode_batch({ handle, lists, options }) {
    return { texts: lists.map((ids) => operations.decode({ handle, ids, options }).text) };
  },
  token_to_id: ({ handle, token }) => ({ id: tokenizer(handle).token_to_id(token) ?? null }),
  id_to_token: ({ handle, id }) => ({ token: tokenizer(handle).id_to_token(id) ?? null }),
};

const version = () => {
  const main = createRequire(import.meta.url).resolve("@huggingface/tokenizers");
  return JSON.parse(readFileSync(`${dirname(dirname(main))}/package.json`, "utf8")).version;
};

const hello = () => ({
  protocol: 1,
  implementation: {
    name: "@huggingface/tokenizers",
    version: version(),
    language: "JavaScript",
    host: `Node ${process.versions.node}`,
    homepage: "https://github.com/huggingface/tokenizers.js",
  },
  ops: Object.keys(operations),
  formats: ["tokenizer.json"],
  features: ["tokens", "pair", "any_id"],
});

const answered = (op, fields) => {
  try {
    if (op === "hello") return { ok: true, ...hello() };
    if (!Object.hasOwn(operations, op)) throw new Refusal("bad_request", `no operation ${op}`);
    onlyKnown(op, fields.options);
    return { ok: true, ...operations[op](fields) };
  } catch (error) {
    const code = error instanceof Refusal ? error.code : "internal";
    return { ok: false, error: { code, message: `${error.name}: ${error.message}`.slice(0, 500) } };
  }
};

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { seq, op, ...fields } = JSON.parse(line);
  process.stdout.write(JSON.stringify({ seq, ...answered(op, fields) }) + "\n");
}
