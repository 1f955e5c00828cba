/**
 * Whether this process can run the kernels made of fused multiply-adds.
 *
 * They rest on `f64x2.relaxed_madd` rounding once, a·b + c exactly and then to the nearest double. The instruction set
 * leaves open whether it rounds once or twice, so it is not enough that the module compiles: the rounding is probed.
 */
import { setFlagsFromString } from 'node:v8'

/** Bytes of `(func (export "probe") (param f64 f64) (result f64)`: lane 0 plus lane 1 of relaxed_madd(x, x, y). */
// biome-ignore format: one line a section of the module
const PROBE = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
  0x01, 0x07, 0x01, 0x60, 0x02, 0x7c, 0x7c, 0x01, 0x7c, // type: (f64, f64) -> f64
  0x03, 0x02, 0x01, 0x00, // one function of that type
  0x07, 0x09, 0x01, 0x05, 0x70, 0x72, 0x6f, 0x62, 0x65, 0x00, 0x00, // export "probe"
  0x0a, 0x20, 0x01, 0x1e, 0x01, 0x01, 0x7b, // code: one body of 30 bytes, one v128 local
  0x20, 0x00, 0xfd, 0x14, // local.get 0, f64x2.splat
  0x20, 0x00, 0xfd, 0x14,
  0x20, 0x01, 0xfd, 0x14,
  0xfd, 0x87, 0x02, // f64x2.relaxed_madd
  0x22, 0x02, 0xfd, 0x21, 0x00, // local.tee 2, f64x2.extract_lane 0
  0x20, 0x02, 0xfd, 0x21, 0x01,
  0xa0, 0x0b, // f64.add, end
])

/** Which arithmetic the kernels use: doubles with fused multiply-add, or integers. */
export type KernelBackend = 'fma' | 'integer'

/** Whether relaxed SIMD compiles here at all. */
export function hasRelaxedSimd(): boolean {
  return WebAssembly.validate(PROBE)
}

/**
 * Whether multiply-add is fused in both lanes. With x = 1 + 2^-52, x·x − (1 + 2^-51) is 2^-104 if the product is not
 * rounded first, and 0 if it is.
 */
export function isMultiplyAddFused(): boolean {
  if (!hasRelaxedSimd()) return false
  const { probe } = new WebAssembly.Instance(new WebAssembly.Module(PROBE)).exports
  return probe?.(1 + 2 ** -52, -(1 + 2 ** -51)) === 2 * 2 ** -104
}

/**
 * Turns relaxed SIMD on where V8 has it behind a flag: Node 20. It is a flag of the whole process, so only processes of
 * our own and embedders who ask for it call this; later Nodes have it on and refuse the flag.
 *
 * @returns whether relaxed SIMD compiles now
 */
export function enableRelaxedSimd(): boolean {
  if (hasRelaxedSimd()) return true
  if (process.versions.node.split('.')[0] === '20') setFlagsFromString('--experimental-wasm-relaxed-simd')
  return hasRelaxedSimd()
}

/**
 * @param wanted `auto` takes `fma` where it computes right
 * @throws {Error} if `fma` is wanted and this process can't run it
 */
export function chooseBackend(wanted: 'auto' | KernelBackend): KernelBackend {
  if (wanted === 'integer') return 'integer'
  if (isMultiplyAddFused()) return 'fma'
  if (wanted === 'fma') throw new Error('Fused multiply-add is not available to WebAssembly in this process')
  return 'integer'
}

/**
 * The module with the kernels of a back end, for `wasmFile`. Before version 13 V8's optimiser reorders what has no side
 * effect; the fenced variant keeps its order by stores. Core-seconds of a winning-32g proof, fenced / plain: V8 11.3
 * (Node 20) 24 / 41, 12.4 (Node 22) 25 / 38; 13.6 (Node 24) takes 16 with the plain one.
 */
export function kernelModuleName(backend: KernelBackend): string {
  if (backend === 'integer') return 'kernels-int'
  return Number.parseInt(process.versions.v8, 10) < 13 ? 'kernels-fma-fenced' : 'kernels-fma'
}
