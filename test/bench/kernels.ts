/**
 * Rates of the CPU device's kernels: nanoseconds per multiplication in Fq and Fr, and per point of a multiexp in G1 and
 * G2; and how long proofs of 32 GiB sectors take to be verified: of a WinningPoSt, and of the 25,839 inputs of a
 * WindowPoSt, whose sum is prepared while a device works.
 *
 *     npx tsx test/bench/kernels.ts [--log2 18] [--threads 1,2] [--backend fma,integer] [--groups g1,g2]
 *
 * It prints one JSON object. Times are minima over repetitions; on a shared machine compare ratios.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { type CpuPoints, loadDevicePoints } from '../../src/cpu/device-points.ts'
import { fixedBaseMultiples } from '../../src/cpu/fixed-base/fixed-base.ts'
import type { Group } from '../../src/cpu/msm/group-kernels.ts'
import { ENCODED_BYTES } from '../../src/cpu/msm/group-kernels.ts'
import { multiexp } from '../../src/cpu/msm/multiexp.ts'
import { type KernelBackend as Backend, enableRelaxedSimd, kernelModuleName } from '../../src/cpu/relaxed-simd.ts'
import { ComputePool } from '../../src/cpu/thread-pool.ts'
import { wasmArithmetic, wasmMultiexp } from '../../src/cpu/verify-arithmetic.ts'
import { wasmFile } from '../../src/cpu/wasm-file.ts'
import { pointsIn } from '../../src/groth16/read-points.ts'
import { prepareInputs, verifyPrepared, verifyProofs } from '../../src/groth16/verify.ts'
import { parseVerifyingKey } from '../../src/params/verifying-key.ts'
import { largeVerification } from '../support/large-verification.ts'
import { proofVector } from '../support/vectors.ts'

const { values } = parseArgs({
  options: {
    log2: { type: 'string', default: '18' },
    threads: { type: 'string', default: '1,2' },
    backend: { type: 'string', default: 'fma,integer' },
    groups: { type: 'string', default: 'g1,g2' },
  },
})

enableRelaxedSimd()
const run = { signal: new AbortController().signal, unit: () => {} }

/** The smallest of `times` measurements, in ms. */
function fastest(times: number, body: () => void): number {
  let best = Infinity
  for (let i = 0; i < times; i++) {
    const start = performance.now()
    body()
    best = Math.min(best, performance.now() - start)
  }
  return best
}

/** Called from JavaScript: about 5 ns of each figure is the call. Two lanes count as two multiplications. */
function fieldRates(name: string): Record<string, number> {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65_536, shared: true })
  const scratch = 0x20_0000
  const env = { memory, scratch: new WebAssembly.Global({ value: 'i32' }, scratch) }
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(wasmFile(name))), { env })
  const lanes = exports.lanes?.() ?? 1
  const a = scratch + 0x1_0000
  const repetitions = 20_000
  const rates: Record<string, number> = {}
  for (const kernel of ['fq_mul', 'fq_mul_lazy', 'fq_sqr', 'fq2_mul', 'fq2_sqr', 'fr_mul', 'fq_inv']) {
    const mul = exports[kernel] as (...args: number[]) => number
    const count = kernel === 'fq_inv' ? 100 : repetitions
    const body = (): void => {
      for (let i = 0; i < count; i++) mul(a + 1024, a, a + 512)
    }
    for (let i = 0; i < 10; i++) body()
    rates[kernel] = Number(((fastest(10, body) / count / lanes) * 1e6).toFixed(1))
  }
  return rates
}

interface Rates {
  /** One multiple of a fixed base. */
  readonly fixedBaseNs: number
  readonly importNs: number
  readonly multiexpMs: number
  /** Of all threads together: what a busy machine changes least. */
  readonly multiexpCpuMs: number
  readonly multiexpNsPerPoint: number
}

/** A 2^log2 multiexp of random points with random scalars, the points made as multiples of the generator. */
async function groupRates(backend: Backend, threads: number, group: Group, log2: number): Promise<Rates> {
  const pool = await ComputePool.create({ threads, backend })
  try {
    const count = 2 ** log2
    const scalars = randomScalars(count)
    const base = (group === 'g1' ? bls12_381.G1 : bls12_381.G2).Point.BASE.toBytes(false)
    const encoded = new Uint8Array(count * ENCODED_BYTES[group])
    const fixedBase = await timed(() => fixedBaseMultiples(pool, group, base, scalars, encoded, run))
    let points: CpuPoints | undefined
    const load = await timed(async () => {
      points = await loadDevicePoints(pool, group, count, pointsIn(encoded, ENCODED_BYTES[group]), run)
    })
    const address = pool.arena.allocate(scalars.length)
    new Uint8Array(pool.memory.buffer, address, scalars.length).set(randomScalars(count))
    let [best, leastCpu] = [Infinity, Infinity]
    for (let i = 0; i < 3; i++) {
      const before = process.cpuUsage()
      const time = await timed(() => multiexp(pool, group, (points as CpuPoints).address, address, count, run))
      best = Math.min(best, time)
      leastCpu = Math.min(leastCpu, process.cpuUsage(before).user)
    }
    const perPoint = (ms: number): number => Math.round((ms * 1e6) / count)
    return {
      fixedBaseNs: perPoint(fixedBase),
      importNs: perPoint(load),
      multiexpMs: Math.round(best),
      multiexpCpuMs: Math.round(leastCpu / 1000),
      multiexpNsPerPoint: perPoint(best),
    }
  } finally {
    await pool.close()
  }
}

async function timed(body: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await body()
  return performance.now() - start
}

/** Uniform below 2^254, which is below r. */
function randomScalars(count: number): Uint8Array {
  const scalars = randomBytes(count * 32)
  for (let i = 31; i < scalars.length; i += 32) scalars[i] = (scalars[i] as number) & 0x3f
  return scalars
}

/** Milliseconds of CPU time, the first time and the least. */
function verification(): Record<string, readonly [first: number, least: number]> {
  const { vk, proof, publicInputs } = proofVector('32GiB', 'winning', 'winning-32GiB')
  const key = parseVerifyingKey(vk, { file: 'winning-32GiB.vk' })
  const times = (work: () => boolean): readonly [number, number] => {
    const all = Array.from({ length: 20 }, () => {
      const before = process.cpuUsage()
      if (!work()) throw new Error('A proof that holds does not verify.')
      const { user, system } = process.cpuUsage(before)
      return Number(((user + system) / 1000).toFixed(1))
    })
    return [all[0] as number, Math.min(...all)]
  }
  const winning = {
    kernels: times(() => verifyProofs(key, publicInputs, proof, wasmArithmetic)),
    bigints: times(() => verifyProofs(key, publicInputs, proof, { multiexp: wasmMultiexp })),
  }
  const large = largeVerification(25_840)
  const prepared = prepareInputs(large.key, [large.publicInputs], wasmArithmetic)
  return {
    ...winning,
    window: times(() => verifyProofs(large.key, [large.publicInputs], large.proof, wasmArithmetic)),
    windowPrepared: times(() => verifyPrepared(large.key, prepared, large.proof, wasmArithmetic)),
  }
}

const report: Record<string, unknown> = { node: process.version, verificationMs: verification() }
for (const backend of values.backend.split(',') as Backend[]) {
  const module = kernelModuleName(backend)
  const rates: Record<string, unknown> = { module, fieldNs: fieldRates(module) }
  for (const group of values.groups.split(',') as Group[]) {
    for (const threads of values.threads.split(',').map(Number)) {
      rates[`${group}, 2^${values.log2} points, ${threads} threads`] = await groupRates(
        backend,
        threads,
        group,
        Number(values.log2),
      )
    }
  }
  report[backend] = rates
}
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`)
