/**
 * What takes the software GPU's driver minutes of compiling: a device in a thread of the engine's own process, and two
 * devices in a process each that work at once, as identical cards do, with the timeline of what they did.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { fromBytesLE } from '../../src/field/bytes.ts'
import { windowRequest } from '../support/fixtures.ts'
import { openParameters } from '../support/parameters.ts'
import { proveRequest } from '../support/prove.ts'
import { hasSoftwareGpu } from '../support/software-gpu.js'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { runWebGpuChild } from '../support/webgpu-scenario.ts'

const directory = temporaryDirectory()

/** An event of Chrome's trace format, as far as it is looked at here. */
interface TraceEvent {
  readonly name: string
  readonly cat?: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur: number
  readonly args: { readonly batch?: number; readonly partition?: number; readonly job?: string }
}

/** Clocks of two processes, both of them the machine's since its start plus a time of day read once. */
const CLOCKS_APART_US = 5_000

const isWithin = (inner: TraceEvent, outer: TraceEvent, slack = 1): boolean =>
  inner.ts >= outer.ts - slack && inner.ts + inner.dur <= outer.ts + outer.dur + slack

/** What `test/support/blinding-worker.js` gives to every proof. */
const BLINDING = { r: fromBytesLE(new Uint8Array(32).fill(0x11)), s: fromBytesLE(new Uint8Array(32).fill(0x22)) }

beforeAll(async () => {
  const { developmentSetup } = await import('../../src/srs/development-setup.ts')
  await developmentSetup('wpost-2k', { directory })
}, 300_000)

afterAll(() => removeDirectory(directory))

/** By the CPU device. */
async function proofByCpu(): Promise<string> {
  const shape = circuitShape('wpost-2k')
  const source = await openParameters(shape, directory)
  const device = await CpuDevice.create({})
  try {
    const proof = await proveRequest(device, shape, source, windowRequest(), { blindings: [BLINDING] })
    return Buffer.from(proof).toString('hex')
  } finally {
    await device.close()
    await source.close()
  }
}

describe.runIf(hasSoftwareGpu)('engines on the software GPU', { timeout: 900_000 }, () => {
  test('a device in a thread proves, and the process ends by itself', async () => {
    const { first, events } = await runWebGpuChild('thread', directory)
    expect(first).toEqual({ verified: true, length: 192 })
    expect(events).toEqual(['gpu closed'])
  })

  test('two devices at once give the bytes of the CPU device for the same blinding, and a timeline', async () => {
    const { proofs, devices, most, gpus, trace } = await runWebGpuChild('two', directory)
    expect(gpus.length).toBe(2)
    expect(most).toBe(2)
    expect([...devices].sort()).toEqual([0, 1])
    const expected = await proofByCpu()
    expect(proofs).toEqual([expected, expected])
    checkTrace(trace)
  })
})

function checkTrace(trace: readonly TraceEvent[]): void {
  const spans = trace.filter(({ ph }) => ph === 'X')
  const of = (category: string): TraceEvent[] => spans.filter(({ cat }) => cat === category)
  for (const { name, pid, tid, ts, dur } of spans) {
    expect(name).not.toBe('')
    for (const number of [pid, tid, ts, dur]) expect(number).toBeGreaterThanOrEqual(0)
  }
  // Events of one row lie one after another, or in each other: what only overlaps can't be drawn.
  for (const row of rowsOf(spans).values()) {
    const open: TraceEvent[] = []
    for (const event of row.sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
      while (open.length > 0 && (open.at(-1) as TraceEvent).ts + (open.at(-1) as TraceEvent).dur <= event.ts + 1)
        open.pop()
      const outer = open.at(-1)
      if (outer !== undefined) expect(isWithin(event, outer), `${event.name} in ${outer.name}`).toBe(true)
      open.push(event)
    }
  }

  const proofs = of('call').filter(({ name }) => name === 'proveBatch')
  expect(proofs.length).toBe(2)
  expect(new Set(proofs.map(({ pid }) => pid)).size).toBe(2)
  // Each batch lies in the time that a partition of its own was on a device, each step and unit in its batch.
  const partitions = of('partition').filter(({ name }) => name === 'gpu')
  expect(partitions.length).toBe(2)
  for (const proof of proofs) {
    expect(partitions.some((partition) => isWithin(proof, partition, CLOCKS_APART_US))).toBe(true)
    const mine = (category: string): TraceEvent[] =>
      of(category).filter(({ pid, args }) => pid === proof.pid && args.batch === proof.args.batch)
    for (const category of ['step', 'unit', 'transfer']) {
      expect(mine(category).length).toBeGreaterThan(0)
      for (const event of mine(category)) expect(isWithin(event, proof), `${event.name} in its batch`).toBe(true)
    }
    const steps = mine('step').map(({ name }) => name)
    // A circuit of this size has its sums made at once.
    for (const step of ['assign', 'quotient', 'sumQueries', 'assemble']) expect(steps).toContain(step)
  }
  // Both devices worked at the same time.
  expect(proofs.some((a) => proofs.some((b) => a.pid !== b.pid && a.ts < b.ts && b.ts < a.ts + a.dur))).toBe(true)
}

function rowsOf(spans: readonly TraceEvent[]): Map<string, TraceEvent[]> {
  const rows = new Map<string, TraceEvent[]>()
  for (const span of spans) {
    const key = `${span.pid} ${span.tid}`
    rows.set(key, [...(rows.get(key) ?? []), span])
  }
  return rows
}
