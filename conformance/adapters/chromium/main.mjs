// The adapter for browsers: starts Chromium without a window and hands each line to a page.
//
// The page is served from loopback. With threads it is isolated (COOP and COEP), and the core runs
// in a worker, where it may wait; the portable core needs neither.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const here = dirname(fileURLToPath(import.meta.url));
const build = process.env.PYWASMTOK_ADAPTER_BUILD ?? "portable";
const folder = process.env.PYWASMTOK_CORE ?? join(here, "../../../pywasmtok/core");
const browser = NAMES.find((name) => spawnSync(name, ["--version"]).status === 0);
const host = join(here, "../../../hosts/js");
if (process.argv.includes("--available")) {
  if (!browser) console.error(`no browser: none of ${NAMES.join(", ")}`);
  if (!existsSync(host)) console.error(`no host: ${host}`);
  process.exit(browser && existsSync(host) ? 0 : 1);
}
const version = spawnSync(browser, ["--version"], { encoding: "utf8" }).stdout.trim();

const TYPES = { ".mjs": "text/javascript", ".html": "text/html", ".wasm": "application/wasm" };
const ISOLATED = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

const server = createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  const name = url.pathname.slice(1);
  const path = url.pathname === "/file" ? url.searchParams.get("path")
    : name.endsWith(".wasm") ? join(folder, name)
    : name.startsWith("page") ? join(here, name)
    : name.startsWith("hosts/") ? join(here, "../../..", name)
    : join(here, "../js", name);
  const headers = { "Content-Type": TYPES[extname(path)] ?? "application/octet-stream" };
  try {
    const data = readFileSync(path);
    response.writeHead(200, { ...headers, ...(build === "threads" ? ISOLATED : {}) }).end(data);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const origin = `http://127.0.0.1:${server.address().port}`;

const profile = mkdtempSync(join(tmpdir(), "tokconf-chromium-"));
const child = spawn(browser, [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank",
], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
child.on("exit", () => process.exit(1));

/** Chromium's debugging protocol over two pipes: JSON, ended by a zero byte. */
class Debugger {
  #waiting = new Map();
  #last = 0;
  #rest = "";

  constructor(input, output) {
    this.input = input;
    output.setEncoding("utf8").on("data", (data) => {
      const messages = (this.#rest + data).split("\0");
      this.#rest = messages.pop();
      for (const message of messages.map((text) => JSON.parse(text))) {
        const done = this.#waiting.get(message.id);
        this.#waiting.delete(message.id);
        if (message.error) done?.reject(new Error(message.error.message));
        else done?.resolve(message.result);
      }
    });
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#last;
    this.input.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }
}

const debug = new Debugger(child.stdio[3], child.stdio[4]);
const { targetId } = await debug.send("Target.createTarget", { url: `${origin}/page.html?build=${build}` });
const { sessionId } = await debug.send("Target.attachToTarget", { targetId, flatten: true });

async function evaluate(expression) {
  const params = { expression, awaitPromise: true, returnByValue: true };
  const { result, exceptionDetails } = await debug.send("Runtime.evaluate", params, sessionId);
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

// The page may still be loading: `ready` is there as soon as its script has begun.
while (!(await evaluate("typeof ready !== 'undefined'").catch(() => false))) await new Promise((later) => setTimeout(later, 20));
await evaluate(`ready.then(() => answer(${JSON.stringify(JSON.stringify({ seq: 0, op: "hello" }))}))`);

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const answer = JSON.parse(await evaluate(`answer(${JSON.stringify(line)})`));
  if (answer.implementation) answer.implementation.host = version;
  process.stdout.write(JSON.stringify(answer) + "\n");
}
child.removeAllListeners("exit");
const gone = new Promise((resolve) => child.on("exit", resolve));
await debug.send("Browser.close").catch(() => {});
await gone;
server.close();
server.closeAllConnections();
rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
