/**
 * What proofs take of the host's memory beside what the budget reserves for them, phase by phase, on the CPU device:
 *
 *     node scripts/run.js test/bench/memory.ts [--proof winning-32g] [--threads 2] [--idle SECONDS] [--json]
 *
 * Run it in a process of its own: the memory of the whole process is what is measured. Growth is counted from an engine
 * that has proved nothing, so that the code of one synthesis thread (some 30 MiB, which the safety margin is for) is in
 * it. A proof given up before it reaches a device would start that thread first, but leaves a part of the circuit's
 * points on the CPU device, which reads them meanwhile: how many is chance. A phase's figure is the greatest resident
 * set within it; what a phase before has touched and no allocator gave back is in it. With `--idle` the engine is left
 * alone for so long after the proof: the CPU device gives memory back after a minute, and V8 takes it some seconds
 * later.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type CircuitId, Engine, type PartitionState } from 'wgzk'
import { developmentParameters } from '../../examples/support/development-parameters.ts'
import { collect } from '../support/collect.ts'
import { BENCH_PROOFS } from './requests.ts'

const { values } = parseArgs({
  options: {
    proof: { type: 'string', default: 'winning-32g' },
    threads: { type: 'string', default: '2' },
    idle: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
  },
})

/** A phase as it was measured: all that is reserved in it, and the resident bytes beyond those of the idle engine. */
interface Phase {
  readonly phase: string
  readonly reservedBytes: number
  readonly rssBytes: number
  /** Measured by reserved. */
  readonly ratio: number
}

/** Resident bytes when nothing moves any more. */
async function atRest(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5; i++) {
    collect()
    await delay(100)
    least = Math.min(least, process.memoryUsage.rss())
  }
  return least
}

const circuitId = values.proof as CircuitId
const proof = BENCH_PROOFS[circuitId]
if (proof === undefined) throw new Error(`--proof takes one of ${Object.keys(BENCH_PROOFS).join(', ')}`)
const parameterCache = await developmentParameters(circuitId)
await using engine = await Engine.create({
  parameterCache,
  allowDevelopmentParameters: true,
  memory: { totalBytes: 4 * 2 ** 30 },
  gpu: { devices: 'cpu' },
  cpu: { threads: Number(values.threads) },
  synthesis: { concurrency: 1, lookahead: 0 },
})

// `preload` is not used: the first partition reserves its circuit and its working set at once, as it is meant to.
const idleBytes = await atRest()
const idleReserved = engine.status().memory.usedBytes

const greatest = new Map<string, { rss: number; reserved: number }>()
let phase: PartitionState | 'loading' = 'loading'
engine.on('partition', ({ state }) => {
  phase = state
})
const sample = (): void => {
  const now = greatest.get(phase) ?? { rss: 0, reserved: 0 }
  const { usedBytes } = engine.status().memory
  greatest.set(phase, {
    rss: Math.max(now.rss, process.memoryUsage.rss()),
    reserved: Math.max(now.reserved, usedBytes),
  })
}
const timer = setInterval(sample, 5)
await engine.prove(proof.request())
clearInterval(timer)
const restBytes = await atRest()
greatest.set('at rest', { rss: restBytes, reserved: engine.status().memory.usedBytes })
if (Number(values.idle) > 0) {
  await delay(1_000 * Number(values.idle))
  const idle = { rss: process.memoryUsage.rss(), reserved: engine.status().memory.usedBytes }
  greatest.set(`after ${values.idle} s`, idle)
}

const phases: Phase[] = [...greatest].map(([name, { rss, reserved: reservedBytes }]) => {
  const rssBytes = rss - idleBytes
  return { phase: name, reservedBytes, rssBytes, ratio: rssBytes / reservedBytes }
})
if (values.json) console.log(JSON.stringify({ circuitId, idleBytes, idleReserved, phases }, null, 2))
else {
  const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`
  console.log(`${circuitId}, ${values.threads} threads; idle ${mib(idleBytes)} resident, ${mib(idleReserved)} reserved`)
  for (const { phase: name, reservedBytes, rssBytes, ratio } of phases) {
    console.log(
      `${name.padEnd(14)} reserved ${mib(reservedBytes)}, measured ${mib(rssBytes)}, ratio ${ratio.toFixed(2)}`,
    )
  }
}
