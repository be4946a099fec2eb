import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
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
const threaded = async () => Core.load(await wasm("threads"));
const fails = (kind, call, place = {}) => assert.throws(call, (error) => {
  assert.ok(error instanceof TokenizerError, String(error));
  const found = { kind: error.kind, path: error.path, offset: error.offset };
  assert.deepEqual(found, { ...found, kind, ...place });
  return true;
});
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

test("takes ids from any iterable, and nothing that is no id", () => {
  const tokenizer = core.tokenizer(WORDS);
  for (const ids of [new Set([1, 2]), [1, 2].values(), Int32Array.of(1, 2), Uint32Array.of(0, 1, 2).subarray(1)])
    assert.equal(tokenizer.decode(ids), "hello world");
  assert.deepEqual(tokenizer.decodeBatch([new Set([1, 2]), [2].values()]), ["hello world", "world"]);
  assert.equal(tokenizer.stream(new Set([1])).push(2), " world");
  assert.equal(tokenizer.stop({}, new Set([1])).push(2).text, " world");
  const wrong = [NaN, undefined, null, -1, 1.9, 2 ** 32, 2 ** 32 + 1, "1", 1n, [1]];
  for (const id of wrong) {
    fails("bad_argument", () => tokenizer.decode([id]));
    fails("bad_argument", () => tokenizer.decodeBytes([1, id]));
    fails("bad_argument", () => tokenizer.decodeBatch([[1], [id]]));
    fails("bad_argument", () => tokenizer.idToToken(id));
    fails("bad_argument", () => tokenizer.stream([id]));
    fails("bad_argument", () => tokenizer.stop({}, [id]));
    fails("bad_argument", () => tokenizer.stream().push(1, id));
    fails("bad_argument", () => tokenizer.stop({}).push(1, id));
  }
  for (const ids of [2, {}, null, undefined, { length: 1, 0: 1 }]) fails("bad_argument", () => tokenizer.decode(ids));
});

test("a limit above all counts is none", () => {
  const tokenizer = core.tokenizer(WORDS);
  const text = "hello world ".repeat(100_000);
  for (const limit of [undefined, Infinity, 2 ** 32, 0xffffffff])
    assert.equal(tokenizer.countIds(text, { ...bare, limit }), 200_000);
  assert.ok(tokenizer.countIds(text, { ...bare, limit: 5 }) < 200_000);
  for (const limit of [NaN, -1, 1.5, "5", null]) {
    fails("bad_argument", () => tokenizer.countIds(text, { limit }));
    fails("bad_argument", () => tokenizer.countIds("hello", { limit, special: [] }));
  }
});

test("batches may have any number of items", () => {
  const tokenizer = core.tokenizer(WORDS);
  const count = 200_000;
  const texts = Array(count).fill("hello");
  for (const special of ["all", []]) {
    const found = tokenizer.encodeBatch(texts, { ...bare, special });
    assert.deepEqual([found.length, ...found.at(-1)], [count, 1]);
  }
  assert.equal(tokenizer.encodeSegments(texts.map((text) => ({ text: `${text} `, trusted: true })), bare).length, count);
  assert.equal(tokenizer.decodeBatch(Array(count).fill([1])).at(-1), "hello");
  for (const ids of [Array(count).fill(1), new Uint32Array(count).fill(1)]) {
    assert.equal(tokenizer.stream().push(ids).length, 6 * count - 1);
    assert.equal(tokenizer.stop({}).push(ids).text.length, 6 * count - 1);
  }
});

test("an error says where the text is that is not well-formed", () => {
  const tokenizer = core.tokenizer(WORDS);
  const half = "é\u{1f600}\ud800", place = (path) => ({ path, offset: 6 });
  for (const special of ["all", "raise"]) {
    fails("invalid_text", () => tokenizer.encode(half, { special }), place(""));
    fails("invalid_text", () => tokenizer.encode("hello", { pair: half, special }), place("texts[1]"));
    fails("invalid_text", () => tokenizer.encodeBatch(["hello", half], { special }), place("texts[1]"));
    fails("invalid_text", () => tokenizer.countIds(half, { special }), place(""));
  }
  const segments = [{ text: "hello", trusted: true }, { text: half, trusted: false }];
  fails("invalid_text", () => tokenizer.encodeSegments(segments), place("texts[1]"));
  const none = { path: "", offset: null };
  fails("invalid_text", () => tokenizer.stop({ stop_sequences: [half] }), none);
  fails("invalid_text", () => core.tokenizer(WORDS, { pattern: half }), none);
  fails("invalid_text", () => core.tokenizer(WORDS, { special_tokens: { [half]: 1 } }), none);
  fails("host", () => core.share(), none);
});

test("a wrong argument is a TokenizerError, and so is an option that does not exist", async () => {
  const tokenizer = core.tokenizer(WORDS);
  const renderer = await Renderer.load(await wasm("template"));
  const bare = Object.create(null);
  for (const text of [undefined, null, 5, 1n, {}, bare, [], Symbol("x"), new String("a"), new Uint8Array(1)]) {
    fails("bad_argument", () => tokenizer.encode(text));
    if (text !== undefined) fails("bad_argument", () => tokenizer.encode("hello", { pair: text }));
    fails("bad_argument", () => tokenizer.encodeBatch(["hello", text]), { path: "texts[1]" });
    fails("bad_argument", () => tokenizer.encodeSegments([{ text, trusted: true }]), { path: "texts[0]" });
    fails("bad_argument", () => tokenizer.countIds(text));
    fails("bad_argument", () => tokenizer.tokenToId(text));
    fails("bad_argument", () => tokenizer.encode("hello", { special: [text] }));
    fails("bad_argument", () => renderer.render(text, { messages: [] }));
  }
  for (const list of [undefined, null, 5, "abc", {}, bare]) {
    fails("bad_argument", () => tokenizer.encodeBatch(list));
    fails("bad_argument", () => tokenizer.encodeSegments(list));
    fails("bad_argument", () => tokenizer.decodeBatch(list));
    fails("bad_argument", () => tokenizer.decodeBatch([list]));
  }
  fails("bad_argument", () => tokenizer.encodeSegments([null]));
  fails("bad_argument", () => core.tokenizer([null]));
  fails("bad_argument", () => tokenizer.decode([1], { unknown: Symbol("x") }));
  assert.deepEqual(tokenizer.encodeBatch(new Set(["hello"])).map((ids) => [...ids]), [[1, 3]]);
  assert.deepEqual(tokenizer.decodeBatch(new Set([[1], [2]])), ["hello", "world"]);

  const circle = {};
  circle.circle = circle;
  for (const value of [undefined, () => 1, { min_tokens: 5n }, { min_tokens: NaN }, circle]) fails("bad_argument", () => tokenizer.stop(value));
  const request = { messages: [{ role: "user", content: "hello" }] };
  for (const x of [5n, NaN, -Infinity, circle])
    fails("bad_argument", () => renderer.render("{{ x }}", { ...request, arguments: { x } }));
  fails("bad_argument", () => renderer.render("", undefined));
  for (const now of ["2020", null, 5]) fails("bad_argument", () => renderer.render("", request, { now }));
  fails("bad_argument", () => renderer.render("", request, { continues: 5 }));

  const misspelt = [
    (given) => tokenizer.encode("hello", given), (given) => tokenizer.encodeBatch(["hello"], given),
    (given) => tokenizer.encodeSegments([], given), (given) => tokenizer.countIds("hello", given),
    (given) => tokenizer.decode([1], given), (given) => tokenizer.decodeBytes([1], given),
    (given) => tokenizer.decodeBatch([[1]], given), (given) => tokenizer.stream([], given),
    (given) => tokenizer.stop({}, [], given), (given) => core.tokenizer(WORDS, given),
    (given) => renderer.render("", request, given), (given) => renderer.segments("", request, given),
    (given) => renderer.render("", request, { limits: given }),
  ];
  for (const call of misspelt) {
    for (const none of [undefined, null, {}]) call(none);
    fails("bad_argument", () => call({ fule: 5 }));
  }
  fails("bad_argument", () => tokenizer.encode("hello", "special"));
  fails("bad_argument", () => tokenizer.encodeBatch(["hello"], { details: true }));
  fails("bad_argument", () => tokenizer.encodeSegments([], { special: "none" }));
  fails("bad_argument", () => core.tokenizer(WORDS, { unknown: 1 }));
  fails("bad_argument", () => tokenizer.stop({ stops: [] }));
});

test("byte runs are a matter of streams, and no other value than the two", () => {
  const tokenizer = core.tokenizer(WORDS);
  const eager = { byteRuns: "eager" };
  assert.equal(tokenizer.decode([1], eager), "hello");
  assert.equal(tokenizer.decodeBytes([1], eager).length, 5);
  assert.deepEqual(tokenizer.decodeBatch([[1]], eager), ["hello"]);
  assert.equal(tokenizer.stream([], eager).push(1), "hello");
  assert.equal(tokenizer.stop({}, [], eager).push(1).text, "hello");
  fails("bad_argument", () => tokenizer.stream([], { byteRuns: "eagre" }));
  fails("bad_argument", () => tokenizer.decode([1], { byteRuns: "eagre" }));
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

test("a stop takes many ids at once, and knows its sequences", () => {
  const tokenizer = core.tokenizer(WORDS);
  const config = { stop_sequences: ["x", " wor"] };
  const stop = tokenizer.stop(config);
  config.stop_sequences.length = 0;
  assert.deepEqual(stop.push(1, 2, 1), { kind: "stopped_with_text", text: "hello" });
  assert.deepEqual([stop.match.string, stop.match.token_index], [" wor", 1]);
  assert.equal(tokenizer.stop({}).push([1, 2]).text, "hello world");
});

test("detects and refuses", async () => {
  assert.equal(core.detect(WORDS).format, "tokenizer.json");
  fails("empty_file", () => core.detect(new Uint8Array()));
  fails("not_a_tokenizer", () => core.tokenizer(new TextEncoder().encode("<html>")));
  await assert.rejects(Core.load(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])), { kind: "host" });
});

test("takes the bytes of a file from a buffer and from any view", async () => {
  const buffer = WORDS.buffer.slice(WORDS.byteOffset, WORDS.byteOffset + WORDS.length);
  const shared = new SharedArrayBuffer(WORDS.length);
  new Uint8Array(shared).set(WORDS);
  const elsewhere = runInNewContext("(bytes) => Uint8Array.from(bytes).buffer")(WORDS);
  for (const data of [buffer, shared, elsewhere, new DataView(buffer), Buffer.from(buffer)]) {
    assert.equal(core.detect(data).format, "tokenizer.json");
    assert.equal(core.tokenizer(data).decode([1]), "hello");
  }
  const json = (value) => new TextEncoder().encode(JSON.stringify(value)).buffer;
  const parts = [{ name: "merges.txt", data: new TextEncoder().encode("a b\n").buffer }, { name: "vocab.json", data: json({ a: 0, b: 1, ab: 2 }) }];
  assert.deepEqual([...core.tokenizer(parts, { encoding: "gpt2" }).encode("ab", bare).ids].slice(0, 1), [2]);
  for (const data of ["{}", [123], {}, undefined, 5]) fails("bad_argument", () => core.tokenizer(data));
  fails("bad_argument", () => core.detect("{}"));
  assert.ok(await Core.load(new Uint8Array(await wasm("portable")).buffer));
});

test("refuses modules that are no core or no renderer", async () => {
  for (const load of [Core.load, Renderer.load]) {
    await assert.rejects(load(new Uint8Array([1, 2, 3])), { name: "TokenizerError", kind: "host" });
    await assert.rejects(load("no bytes"), { name: "TokenizerError", kind: "host" });
  }
  await assert.rejects(Core.load(await wasm("template")), { kind: "host" });
  await assert.rejects(Renderer.load(await wasm("portable")), { kind: "host" });
  fails("host", () => core.share());
});

test("a tokenizer that was freed keeps no memory and says so", async (t) => {
  const memories = [];
  const { Instance } = WebAssembly;
  t.after(() => (WebAssembly.Instance = Instance));
  WebAssembly.Instance = class extends Instance {
    constructor(...parameters) {
      super(...parameters);
      memories.push(new WeakRef(this.exports.memory));
    }
  };
  const freed = core.tokenizer(WORDS), trapped = core.tokenizer(WORDS), kept = core.tokenizer(WORDS);
  const stream = freed.stream();
  for (const _ of [1, 2]) freed.free();
  fails("trap", () => trapped.instance.call("pwt_none"));
  for (const call of [() => freed.encode("hello"), () => freed.decode([1]), () => freed.idToToken(1), () => stream.push(1)])
    fails("host", call);
  assert.throws(() => freed.countIds("hello"), /freed/);
  trapped.free();
  fails("trap", () => trapped.encode("hello"));
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  for (let n = 0; n < 10 && memories.filter((memory) => memory.deref()).length > 1; n++) {
    await setImmediate();
    collect();
  }
  assert.deepEqual(memories.map((memory) => Boolean(memory.deref())), [false, false, true]);
  assert.equal(kept.decode([1]), "hello");
});

test("a trap loses the tokenizer and no other", () => {
  const tokenizer = core.tokenizer(WORDS);
  // An export that does not exist stands for a call that ends in the sandbox.
  fails("trap", () => tokenizer.instance.call("pwt_none"));
  fails("trap", () => tokenizer.encode("hello"));
  assert.equal(core.tokenizer(WORDS).decode([1]), "hello");
});

test("a trap loses all tokenizers of a shared memory", async () => {
  const one = await threaded();
  const first = one.tokenizer(WORDS), second = one.attach(first.handle);
  fails("trap", () => first.instance.call("pwt_none"));
  for (const call of [() => second.encode("hello"), () => second.decode([1]), () => one.tokenizer(WORDS), () => one.share()])
    fails("trap", call);
  for (const tokenizer of [first, second]) tokenizer.free();
});

test("what was given back serves again: sessions, stacks, and files that were refused", async () => {
  const one = await threaded();
  const tokenizer = one.tokenizer(WORDS);
  const html = new TextEncoder().encode("<html>");
  // Of each there are 1024 at most.
  for (let n = 0; n < 1100; n++) {
    fails("not_a_tokenizer", () => one.tokenizer(html));
    one.attach(tokenizer.handle).detach();
    one.release(one.share());
  }
  const other = one.attach(tokenizer.handle), shared = one.share();
  other.detach();
  fails("host", () => other.encode("hello"));
  other.free();
  one.release(shared);
  for (const unknown of [shared, {}, undefined]) fails("bad_argument", () => one.release(unknown));
  assert.deepEqual([...tokenizer.encode("hello", bare).ids], [1]);
});

test("workers share tokenizers of the core with threads", async () => {
  const one = await threaded();
  const tokenizer = one.tokenizer(WORDS);
  const text = "hello world x ".repeat(1000);
  const code = `
    import { parentPort, workerData } from "node:worker_threads";
    const { Core } = await import(workerData.host);
    const tokenizer = Core.join(workerData.shared).attach(workerData.handle);
    parentPort.postMessage(tokenizer.encode(workerData.text).ids);
    tokenizer.detach();`;
  const module = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const host = new URL("../index.mjs", import.meta.url).href;
  const wanted = tokenizer.encode(text).ids;
  const worked = async () => {
    const shared = one.share();
    const worker = new Worker(module, { workerData: { host, shared, handle: tokenizer.handle, text } });
    const ended = once(worker, "exit");
    assert.deepEqual((await once(worker, "message"))[0], wanted);
    await ended;
    one.release(shared);
  };
  // The second time, workers have the stacks of those that have ended.
  for (const _ of [1, 2]) await Promise.all([worked(), worked(), worked()]);
});

test("renders chats", async () => {
  const renderer = await Renderer.load(await wasm("template"));
  const template = "{% for m in messages %}[{{ m.content }}]{% endfor %}";
  const messages = [{ role: "user", content: "hello" }];
  assert.equal(renderer.render(template, { messages }).text, "[hello]");
  const wanted = [{ text: "[", trusted: true }, { text: "hello", trusted: false }, { text: "]", trusted: true }];
  assert.deepEqual(renderer.segments(template, { messages }), wanted);
  fails("syntax", () => renderer.render("{% for %}", { messages }));
  const limited = (limits) => renderer.render(template, { messages }, { limits }).text;
  assert.equal(limited({ fuel: Infinity, output: 2 ** 32 }), "[hello]");
  fails("limit", () => limited({ output: 2 }));
  for (const limit of [NaN, -1, 1.5]) for (const name of ["fuel", "output"]) fails("bad_argument", () => limited({ [name]: limit }));
  fails("bad_argument", () => renderer.render("{{ strftime_now('%Y') }}", { messages }, { now: new Date(NaN) }));
});
