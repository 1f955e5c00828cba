/** What a partition holds of the budget from phase to phase, on fake devices. */
import { describe, expect, test } from 'vitest'
import { type CircuitSize, circuitSize, SMALLEST_CIRCUIT } from '../../src/budget/circuit-sizes.ts'
import { type CircuitEstimate, estimateCircuit, partitionBytes } from '../../src/budget/estimates.ts'
import { CIRCUIT_FAMILIES, type CircuitId, circuitIdOf, SECTOR_SIZE_TAGS } from '../../src/circuit/circuit-id.ts'
import type { Engine } from '../../src/engine.ts'
import { GpuDeviceLostError, InvalidOptionsError } from '../../src/errors.ts'
import { keptBytes } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { leastGpuBytes } from '../../src/webgpu/working-set.ts'
import { bytesFor, needFor } from '../support/budget.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { delay, FakeMachine, recordEvents } from '../support/fake-device.ts'
import { windowRequest } from '../support/fixtures.ts'

const TOTAL_BYTES = 2 ** 32
const CIRCUITS = CIRCUIT_FAMILIES.flatMap((family) => SECTOR_SIZE_TAGS.map((size) => circuitIdOf(family, size)))

/** As the engine counts on a fake GPU, or on a fake CPU device of two threads. */
function estimateOn(device: 'cpu' | 'webgpu', circuitId: CircuitId): CircuitEstimate {
  const size = circuitSize(circuitId)
  if (size === undefined) throw new Error(circuitId)
  return estimateCircuit(size, { device, totalBytes: TOTAL_BYTES, threads: 2 })
}

/** Bytes that partitions hold: neither circuits nor inputs. */
function workingBytes(engine: Engine, { residentBytes }: CircuitEstimate): number {
  const { usedBytes, inputBytes } = engine.status().memory
  return usedBytes - inputBytes - residentBytes
}

const inputBytes = keptBytes(validateRequest(windowRequest()))

describe('a budget in which nothing can be proved', () => {
  test.each(['cpu', 'webgpu'] as const)(
    'is refused with the bytes that the smallest circuit takes: %s',
    async (kind) => {
      const least = needFor('wpost-2k', 2, kind)
      const machine = new FakeMachine({ kind, devices: 2 })
      for (const totalBytes of [1000, least - 1]) {
        const error = await proverErrorOf(() => machine.engine({ memory: { totalBytes }, cpu: { threads: 2 } }))
        expect(error).toBeInstanceOf(InvalidOptionsError)
        expect(error.details).toEqual({
          field: 'memory.totalBytes',
          expected: `at least ${least}`,
          received: String(totalBytes),
        })
        expect(error.message).toContain(`needs ${least} bytes`)
      }
      expect(machine.open).toBe(0)
      const engine = await machine.engine({
        memory: { totalBytes: bytesFor('wpost-2k', 2, kind) },
        cpu: { threads: 2 },
      })
      expect((await engine.prove(windowRequest())).proof).toHaveLength(192)
      await engine.close()
    },
  )

  test('is known from one circuit: no other takes less, on any device', () => {
    for (const device of ['cpu', 'webgpu'] as const) {
      for (const threads of [1, 8, 256]) {
        const needs = CIRCUITS.map((circuitId) => needFor(circuitId, threads, device))
        expect(Math.min(...needs)).toBe(needFor(SMALLEST_CIRCUIT, threads, device))
      }
    }
    for (const bindingBytes of [2 ** 27, 2 ** 31]) {
      const least = CIRCUITS.map((circuitId) => leastGpuBytes(circuitSize(circuitId) as CircuitSize, bindingBytes))
      expect(Math.min(...least)).toBe(leastGpuBytes(circuitSize(SMALLEST_CIRCUIT) as CircuitSize, bindingBytes))
    }
  })
})

/**
 * Of the two sectors of a full partition three commitments, and of ten challenges each a leaf and the siblings of two
 * levels of eight.
 */
const INPUT_IN_WITNESS = 2 * (3 + 10 * (1 + 7 + 7)) * 32

describe('a partition gives its memory back', () => {
  test.each(['cpu', 'webgpu'] as const)('part by part, each when it is freed, and nothing before: %s', async (kind) => {
    const machine = new FakeMachine({ kind, units: 5 })
    const engine = await machine.engine({ memory: { totalBytes: TOTAL_BYTES }, cpu: { threads: 2 } })
    const estimate = estimateOn(kind, 'wpost-2k')
    const whole = partitionBytes(estimate)
    const seen: [string, number][] = []
    const look = (when: string): void => void seen.push([when, workingBytes(engine, estimate)])
    engine.on('partition', ({ state }) => look(state))
    let shares = 0
    // The device's units: the first two take the witness over and divide.
    engine.on('progress', () => machine.running.prove === 1 && look(`unit ${++shares}`))
    await engine.prove(windowRequest())
    const { synthesisBytes, sentBytes, quotientBytes } = estimate
    // The worker's scratch, and what of the witness is the input itself, go with the end of the step that tells of it.
    const onDevice = whole - synthesisBytes - (kind === 'webgpu' ? INPUT_IN_WITNESS : 0)
    expect(seen).toEqual([
      ['synthesizing', whole],
      ['synth_done', whole],
      ['gpu', onDevice],
      ['unit 1', onDevice - sentBytes],
      ['unit 2', onDevice - sentBytes - quotientBytes],
      ['unit 3', onDevice - sentBytes - quotientBytes],
      ['unit 4', onDevice - sentBytes - quotientBytes],
      ['unit 5', onDevice - sentBytes - quotientBytes],
      ['done', onDevice - sentBytes - quotientBytes],
    ])
    expect(synthesisBytes).toBeGreaterThan(0)
    if (kind === 'webgpu') expect(sentBytes).toBeGreaterThan(0)
    expect(workingBytes(engine, estimate)).toBe(0)
    await engine.close()
  })

  test('and takes it back for another try on a device, where it is free', async () => {
    const machine = new FakeMachine({ kind: 'webgpu' }).fail('prove', 1, {
      kind: 'throw',
      error: new GpuDeviceLostError('reset'),
    })
    const engine = await machine.engine()
    const estimate = estimateOn('webgpu', 'wpost-2k')
    const atGpu: number[] = []
    engine.on('partition', ({ state }) => state === 'gpu' && atGpu.push(workingBytes(engine, estimate)))
    await engine.prove(windowRequest())
    const once = partitionBytes(estimate) - estimate.synthesisBytes - INPUT_IN_WITNESS
    expect(atGpu).toEqual([once, once])
    expect(machine.calls('synthesize')).toBe(1)
    await engine.close()
  })

  test('or begins again in its old place, where others have taken it', async () => {
    const estimate = estimateOn('webgpu', 'wpost-2k')
    const { synthesisBytes, sentBytes, residentBytes } = estimate
    // Beside the first partition there is room for the second when the first has given these back.
    const totalBytes = residentBytes + 2 * partitionBytes(estimate) - synthesisBytes - sentBytes + 2 * inputBytes
    const machine = new FakeMachine({ kind: 'webgpu', units: 8, unitMs: 2 })
      .fail('prove', 1, { kind: 'die' })
      .fail('synthesize', 2, { kind: 'deaf', ms: 60 })
    const engine = await machine.engine({ memory: { totalBytes }, synthesis: { concurrency: 2, lookahead: 2 } })
    const seen = recordEvents(engine)
    let most = 0
    engine.on('progress', () => {
      most = Math.max(most, engine.status().memory.usedBytes)
    })
    const first = engine.prove(windowRequest())
    while (machine.running.synthesize === 0) await delay(1)
    await Promise.all([first, engine.prove(windowRequest())])
    // Each job was synthesized, and the first once more.
    expect(machine.calls('synthesize')).toBe(3)
    expect(seen.filter((event) => event.startsWith('retry'))).toEqual(['retry 0 2'])
    expect(seen.filter((event) => event === 'completed').length).toBe(2)
    expect(seen.filter((event) => event === 'partition 0 pending').length).toBe(1)
    expect(most).toBeLessThanOrEqual(totalBytes)
    await engine.close()
    expect(engine.status().memory.usedBytes).toBe(0)
  })
})
