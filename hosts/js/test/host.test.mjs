import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { Core, Renderer, TokenizerError } from "../index.mjs";

// A word is one token, and [END] a special one that the post-processor adds.
const WORDS = new TextEncoder().encode(JSON.stringify({
  version: "1.0", truncation: null, padding: null, normalizer: null, decoder: null,
  added_tokens: [{ id: 3, content: "[END]", single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }],
  pre_tokenizer: { type: "Whitespace" },
  post_processor: {
    type: "TemplateProcessing",
    single: [{ Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "[END]", type_id: 0 } }],
    pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
    special_tokens: { "[END]": { id: "[END]", ids: [3], tokens: ["[END]"] } },
  },
  model: { type: "WordLevel", vocab: { "?": 0, hello: 1, world: 2, "[END]": 3 }, unk_token: "?" },
}));

const wasm = (name) => readFile(new URL(`../../../pywasmtok/core/${name}.wasm`, import.meta.url));
const core = await Core.load(await wasm("portable"));
const fails = (kind, call) => assert.throws(call, (error) => error instanceof TokenizerError && error.kind === kind);
const bare = { addSpecial: false };

test("encodes", () => {
  const tokenizer = core.tokenizer(WORDS);
  const { ids, tokens, offsets } = tokenizer.encode("hello  world", { details: true });
  assert.deepEqual([...ids], [1, 2, 3]);
  assert.deepEqual(tokens, ["hello", "world", "[END]"]);
  assert.deepEqual([...offsets.slice(2, 4)], [7, 12]);
  assert.deepEqual([...tokenizer.encode("hello", { pair: "world", details: true }).typeIds], [0, 1]);
  assert.deepEqual(tokenizer.encodeBatch(["hello", "", "x"]).map((one) => [...one]), [[1, 3], [3], [0, 3]]);
  assert.equal(tokenizer.countIds("hello world"), 3);
  fails("invalid_text", () => tokenizer.encode("\ud800"));
});

test("says what becomes a special token", () => {
  const tokenizer = core.tokenizer(WORDS);
  const ids = (special) => [...tokenizer.encode("hello [END]", { ...bare, special }).ids];
  assert.deepEqual(ids("all"), [1, 3]);
  assert.deepEqual(ids("none"), [1, 0, 0, 0]);
  assert.deepEqual(ids(["[END]"]), [1, 3]);
  assert.deepEqual(ids([]), [1, 0, 0, 0]);
  fails("special_token_in_text", () => ids("raise"));
  fails("bad_argument", () => ids("wrong"));
  const segments = [{ text: "[END]", trusted: true }, { text: "[END]", trusted: false }];
  assert.deepEqual([...tokenizer.encodeSegments(segments, bare)], [3, 0, 0, 0]);
});

test("decodes", () => {
  const tokenizer = core.tokenizer(WORDS);
  assert.equal(tokenizer.decode([1, 2, 3]), "hello world");
  assert.equal(tokenizer.decode([1, 99, 3], { skipSpecial: false }), "hello [END]");
  fails("invalid_token", () => tokenizer.decode([99], { unknown: "error" }));
  fails("bad_argument", () => tokenizer.decode([1], { unknown: "wrong" }));
  assert.deepEqual(tokenizer.decodeBatch([[1], [], [2, 1]]), ["hello", "", "world hello"]);
  assert.equal(tokenizer.tokenToId("world"), 2);
  assert.equal(tokenizer.idToToken(99), null);
});

test("does with unknown ids what the library of the format does", async () => {
  const file = await readFile(new URL("../../../conformance/tokenizers/rwkv/vocab.txt", import.meta.url));
  fails("invalid_token", () => core.tokenizer(file).decode([99999]));
});

test("streams and stops", () => {
  const tokenizer = core.tokenizer(WORDS);
  const stream = tokenizer.stream([1]);
  assert.equal(stream.push(2) + stream.flush(), " world");
  const stop = tokenizer.stop({ stop_sequences: [" wor"] });
  assert.deepEqual(stop.push(1), { kind: "text", text: "hello" });
  assert.deepEqual(stop.push(2), { kind: "stopped", text: "" });
  assert.equal(stop.match.string, " wor");
});

test("detects and refuses", async () => {
  assert.equal(core.detect(WORDS).format, "tokenizer.json");
  fails("empty_file", () => core.detect(new Uint8Array()));
  fails("not_a_tokenizer", () => core.tokenizer(new TextEncoder().encode("<html>")));
  await assert.rejects(Core.load(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])), { kind: "host" });
});

test("a trap loses the tokenizer and no other", () => {
  const tokenizer = core.tokenizer(WORDS);
  // An export that does not exist stands for a call that ends in the sandbox.
  fails("trap", () => tokenizer.instance.call("pwt_none"));
  fails("trap", () => tokenizer.encode("hello"));
  assert.equal(core.tokenizer(WORDS).decode([1]), "hello");
});

test("workers share tokenizers of the core with threads", async () => {
  const threaded = await Core.load(await wasm("threads"));
  const tokenizer = threaded.tokenizer(WORDS);
  const text = "hello world x ".repeat(1000);
  const code = `
    import { parentPort, workerData } from "node:worker_threads";
    const { Core } = await import(workerData.host);
    const tokenizer = Core.join(workerData.shared).attach(workerData.handle);
    parentPort.postMessage(tokenizer.encode(workerData.text).ids);`;
  const module = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const host = new URL("../index.mjs", import.meta.url).href;
  const answers = Array.from({ length: 3 }, () => new Promise((resolve, reject) => {
    const workerData = { host, shared: threaded.share(), handle: tokenizer.handle, text };
    new Worker(module, { workerData }).once("message", resolve).once("error", reject);
  }));
  const wanted = tokenizer.encode(text).ids;
  for (const found of await Promise.all(answers)) assert.deepEqual(found, wanted);
});

test("renders chats", async () => {
  const renderer = await Renderer.load(await wasm("template"));
  const template = "{% for m in messages %}[{{ m.content }}]{% endfor %}";
  const messages = [{ role: "user", content: "hello" }];
  assert.equal(renderer.render(template, { messages }).text, "[hello]");
  const wanted = [{ text: "[", trusted: true }, { text: "hello", trusted: false }, { text: "]", trusted: true }];
  assert.deepEqual(renderer.segments(template, { messages }), wanted);
  fails("syntax", () => renderer.render("{% for %}", { messages }));
});
