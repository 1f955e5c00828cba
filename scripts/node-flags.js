/**
 * Flags that our own processes (tests, examples, benches, tools) give to Node. The library itself sets none unless
 * asked.
 *
 * Node 20's V8 has relaxed SIMD (and so fused multiply-add) behind a flag; from Node 21 on it is always there, and
 * newer V8s refuse the flag, so it must be given to Node 20 only.
 */
export function nodeFlags(version = process.versions.node) {
  return Number.parseInt(version, 10) === 20 ? ['--experimental-wasm-relaxed-simd'] : []
}
