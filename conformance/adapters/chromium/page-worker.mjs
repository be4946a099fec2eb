import { Core, Renderer } from "../../../hosts/js/index.mjs";
import { Server } from "./serve.mjs";

const build = new URLSearchParams(location.search).get("build");
const bytes = async (address) => {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};
const wasm = await bytes(`/${build}.wasm`);
const about = { name: "pywasmtok", version: "", language: "JavaScript", variant: build };
const read = (path) => bytes(`/file?path=${encodeURIComponent(path)}`);
const renderer = await Renderer.load(await bytes("/template.wasm"));
const server = new Server({ core: await Core.load(wasm), renderer, wasm, about, read });

let last = Promise.resolve();
onmessage = ({ data }) => {
  last = last.then(async () => postMessage(await server.answer(data)));
};
postMessage("ready");
