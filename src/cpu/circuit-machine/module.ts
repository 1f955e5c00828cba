import { readFileSync } from 'node:fs'
import { wasmFile } from '../wasm-file.ts'

/** Walk modes of `walkPiece`. */
export const MODE = { digest: 0, expand: 1, rows: 2, check: 3, transpose: 4 } as const

/** Exports of `circuit.wasm`; addresses and counts are unsigned 32-bit numbers. */
export type CircuitExports = Readonly<Record<CircuitExport, (...args: number[]) => number>>

type CircuitExport =
  | 'accumulate'
  | 'addBytes'
  | 'bindCheck'
  | 'bindContext'
  | 'bindDigest'
  | 'bindRows'
  | 'bindScratch'
  | 'bindTranspose'
  | 'blake2sDigest'
  | 'blake2sInit'
  | 'blake2sUpdate'
  | 'blake2sUpdateTwo'
  | 'combine'
  | 'failedRow'
  | 'firstNotCanonical'
  | 'flushDigest'
  | 'fromMontgomery'
  | 'invertMany'
  | 'isCanonical'
  | 'lagrangeCoefficients'
  | 'multiplyMany'
  | 'multiplyPlain'
  | 'negateBytes'
  | 'poseidonHashMany'
  | 'powers'
  | 'scale'
  | 'toMontgomery'
  | 'walkPiece'

let compiled: WebAssembly.Module | undefined

/**
 * An instance on a memory. The module is read and compiled (a few milliseconds) once a thread.
 * @throws {Error} `dist/wasm/circuit.wasm` is missing: the package was not built
 */
export function instantiateCircuit(memory: WebAssembly.Memory): CircuitExports {
  compiled ??= new WebAssembly.Module(readFileSync(wasmFile('circuit')))
  return new WebAssembly.Instance(compiled, { env: { memory } }).exports as CircuitExports
}
