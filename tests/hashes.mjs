// The hashes of docs/hashes.md once more, from that text alone: what a host in another language
// writes. Reads a JSON list of questions, answers a JSON list of hexadecimal digits.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const MASK = (1n << 64n) - 1n;
const IV = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const SIGMA = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
const rotated = (x, n) => ((x >> BigInt(n)) | (x << BigInt(64 - n))) & MASK;

// RFC 7693 with a digest of 8 bytes, no key, and the personalization of the BLAKE2 paper.
function blake2b8(message, person) {
  const parameters = Buffer.alloc(64);
  parameters.set([8, 0, 1, 1]);
  parameters.write(person, 48, "latin1");
  const h = IV.map((word, i) => word ^ parameters.readBigUInt64LE(8 * i));
  for (let at = 0; ; at += 128) {
    const last = at + 128 >= message.length;
    const block = Buffer.alloc(128);
    message.copy(block, 0, at, Math.min(at + 128, message.length));
    const m = SIGMA[0].map((i) => block.readBigUInt64LE(8 * i));
    const v = [...h, ...IV];
    v[12] ^= BigInt(last ? message.length : at + 128);
    if (last) v[14] ^= MASK;
    const mix = (a, b, c, d, x, y) => {
      v[a] = (v[a] + v[b] + x) & MASK;
      v[d] = rotated(v[d] ^ v[a], 32);
      v[c] = (v[c] + v[d]) & MASK;
      v[b] = rotated(v[b] ^ v[c], 24);
      v[a] = (v[a] + v[b] + y) & MASK;
      v[d] = rotated(v[d] ^ v[a], 16);
      v[c] = (v[c] + v[d]) & MASK;
      v[b] = rotated(v[b] ^ v[c], 63);
    };
    for (let round = 0; round < 12; round++) {
      const s = SIGMA[round % 10].map((i) => m[i]);
      mix(0, 4, 8, 12, s[0], s[1]);
      mix(1, 5, 9, 13, s[2], s[3]);
      mix(2, 6, 10, 14, s[4], s[5]);
      mix(3, 7, 11, 15, s[6], s[7]);
      mix(0, 5, 10, 15, s[8], s[9]);
      mix(1, 6, 11, 12, s[10], s[11]);
      mix(2, 7, 8, 13, s[12], s[13]);
      mix(3, 4, 9, 14, s[14], s[15]);
    }
    for (let i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
    if (last) break;
  }
  const digest = Buffer.alloc(8);
  digest.writeBigUInt64LE(h[0]);
  return digest;
}

const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();

function words(ids) {
  const data = Buffer.alloc(4 * ids.length);
  ids.forEach((id, i) => data.writeUInt32LE(id, 4 * i));
  return data;
}

function* blocks(ids, size) {
  for (let at = 0; at + size <= ids.length; at += size) yield ids.slice(at, at + size);
}

const number = (bytes) => bytes.readBigUInt64LE().toString(16).padStart(16, "0");

function head(major, value) {
  if (value < 24) return Buffer.from([(major << 5) | value]);
  const size = value < 0x100 ? 1 : value < 0x10000 ? 2 : 4;
  const bytes = Buffer.alloc(1 + size);
  bytes[0] = (major << 5) | { 1: 24, 2: 25, 4: 26 }[size];
  bytes.writeUIntBE(value, 1, size);
  return bytes;
}
const text = (value) => Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);

const kinds = {
  ids: ({ ids }) => [number(blake2b8(words(ids), "pywasmtok-ids-1"))],
  blocks: ({ ids, size, salt }) => {
    let before = salt ? blake2b8(Buffer.from(salt), "pywasmtok-slt-1") : Buffer.alloc(8);
    return [...blocks(ids, size)].map((block) => {
      before = blake2b8(Buffer.concat([before, words(block)]), "pywasmtok-blk-1");
      return number(before);
    });
  },
  sglang: ({ ids, size }) => {
    let before = Buffer.alloc(0);
    return [...blocks(ids, size)].map((block) => {
      before = sha256(before, words(block));
      return before.toString("hex");
    });
  },
  vllm: ({ ids, size, seed }) => {
    let before = sha256(text(seed));
    return [...blocks(ids, size)].map((block) => {
      const list = [head(4, block.length), ...block.map((id) => head(0, id))];
      const parent = [head(2, before.length), before];
      before = sha256(Buffer.from([0x83]), ...parent, ...list, Buffer.from([0xf6]));
      return before.toString("hex");
    });
  },
  bytes: ({ hexadecimal }) => [sha256(Buffer.from(hexadecimal, "hex")).toString("hex")],
};

const questions = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(questions.map((question) => kinds[question.kind](question))));
