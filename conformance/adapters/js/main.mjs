// The adapter: requests on standard input, answers on standard output, for Node.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Core, Renderer } from "../../../hosts/js/index.mjs";
import { Server } from "./serve.mjs";

const build = process.env.PYWASMTOK_ADAPTER_BUILD ?? "portable";
const here = dirname(fileURLToPath(import.meta.url));
const folder = process.env.PYWASMTOK_CORE ?? join(here, "../../../pywasmtok/core");
const wasm = readFileSync(join(folder, `${build}.wasm`));
const about = { name: "pywasmtok", version: "", language: "JavaScript", host: `Node ${process.versions.node}`, variant: build };

const renderer = await Renderer.load(readFileSync(join(folder, "template.wasm")));
const core = await Core.load(wasm);
const read = async (path) => readFileSync(path);

const server = new Server({ core, renderer, wasm, about, read, json: jsonAsWritten() });
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity }))
  process.stdout.write((await server.answer(line)) + "\n");

/** Node 20 has numbers as they were written, but not in contexts that were there before the flag. */
function jsonAsWritten() {
  if (JSON.rawJSON) return JSON;
  setFlagsFromString("--harmony-json-parse-with-source");
  return runInNewContext("JSON");
}
