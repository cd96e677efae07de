// Where a routing key falls in the key space, as the client computes it (pravega_lab/protocol/hashing.py).

const MASK = (1n << 64n) - 1n;
const [C1, C2] = [0x87c37b91114253d5n, 0x4cf5ad432745937fn];
const SEED = 1741865571n;

const mul = (a: bigint, b: bigint): bigint => (a * b) & MASK;
const rotl = (x: bigint, r: number): bigint => ((x << BigInt(r)) | (x >> BigInt(64 - r))) & MASK;

function mixed(k: bigint): bigint {
  let x = mul(k ^ (k >> 33n), 0xff51afd7ed558ccdn);
  x = mul(x ^ (x >> 33n), 0xc4ceb9fe1a85ec53n);
  return x ^ (x >> 33n);
}

/** Return `n` bytes from `at` as a little-endian number. */
function word(data: Uint8Array, at: number, n: number): bigint {
  let v = 0n;
  for (let i = n - 1; i >= 0; i--) v = (v << 8n) | BigInt(data[at + i]);
  return v;
}

/** Return a routing key's position in [0, 1): MurmurHash3 x64 128 of its UTF-16 units, upper half (pravega.md A3). */
export function keyPosition(key: string): number {
  const data = new Uint8Array(2 * key.length);
  for (let i = 0; i < key.length; i++) data.set([key.charCodeAt(i) & 255, key.charCodeAt(i) >> 8], 2 * i);
  let [h1, h2] = [SEED, SEED];
  const whole = data.length & ~15;
  for (let at = 0; at < whole; at += 16) {
    h1 ^= mul(rotl(mul(word(data, at, 8), C1), 31), C2);
    h1 = (mul((rotl(h1, 27) + h2) & MASK, 5n) + 0x52dce729n) & MASK;
    h2 ^= mul(rotl(mul(word(data, at + 8, 8), C2), 33), C1);
    h2 = (mul((rotl(h2, 31) + h1) & MASK, 5n) + 0x38495ab5n) & MASK;
  }
  const rest = data.length - whole;
  if (rest > 8) h2 ^= mul(rotl(mul(word(data, whole + 8, rest - 8), C2), 33), C1);
  if (rest > 0) h1 ^= mul(rotl(mul(word(data, whole, Math.min(8, rest)), C1), 31), C2);
  h1 ^= BigInt(data.length);
  h2 ^= BigInt(data.length);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  h1 = mixed(h1);
  h2 = mixed(h2);
  h1 = (h1 + h2) & MASK;
  return Number(h1 >> 12n) / 2 ** 52;
}
