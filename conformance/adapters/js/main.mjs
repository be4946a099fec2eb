// The adapter: requests on standard input, answers on standard output, for Node.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Core } from "./host.mjs";
import { Server } from "./serve.mjs";

const build = process.env.PYWASMTOK_ADAPTER_BUILD ?? "portable";
const here = dirname(fileURLToPath(import.meta.url));
const folder = process.env.PYWASMTOK_CORE ?? join(here, "../../../pywasmtok/core");
const wasm = readFileSync(join(folder, `${build}.wasm`));
const about = { name: "pywasmtok", version: "", language: "JavaScript", host: `Node ${process.versions.node}`, variant: build };

const server = new Server(await Core.load(wasm), wasm, about, async (path) => readFileSync(path));
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity }))
  process.stdout.write((await server.answer(line)) + "\n");
