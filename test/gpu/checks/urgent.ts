import assert from 'node:assert/strict'
import type { Run } from '../../../src/groth16/proving-device.ts'
import type { Gpu } from '../../../src/webgpu/gpu.ts'
import { multiexp } from '../../../src/webgpu/msm/multiexp.ts'
import { FR } from '../../../src/webgpu/prelude/digit-field.ts'
import { UnitPace } from '../../../src/webgpu/unit-pace.ts'
import { bufferOf, type Check, plainWords, Random } from '../harness.ts'
import { packPoints, randomPoints } from '../points.ts'

const signal = new AbortController().signal

/** Work of a unit whatever the adapter: a fast one would have the whole sum in a few, all submitted at once. */
const UNIT_ADDITIONS = 2 ** 13

/** Sums over `count` points, each time the same. */
async function sums(gpu: Gpu, count: number) {
  const random = new Random()
  const distinct = randomPoints('g1', 16, random)
  const points = Array.from({ length: count }, (_, i) => distinct[i % distinct.length])
  const words = new Uint32Array(8 * count)
  for (let i = 0; i < count; i++) words.set(plainWords(random.below(FR.modulus), 8), 8 * i)
  const [pointBuffer, scalarBuffer] = [
    await bufferOf(gpu, packPoints(points, 'g1'), 'points'),
    await bufferOf(gpu, words, 'scalars'),
  ]
  return {
    sum: (run: Run) => multiexp(gpu, 'g1', pointBuffer, scalarBuffer, 0, count, run, { window: 6 }),
    release(): void {
      gpu.release(pointBuffer)
      gpu.release(scalarBuffer)
    },
  }
}

/** A sum that is urgent passes one that is under way, which comes to what it would have come to. */
const passes: Check = async (gpu) => {
  const paced = gpu as { pace: UnitPace }
  const { pace } = gpu
  paced.pace = Object.assign(new UnitPace(), { limit: UNIT_ADDITIONS, note: () => {} })
  try {
    await race(gpu)
  } finally {
    paced.pace = pace
  }
}

async function race(gpu: Gpu): Promise<void> {
  const [long, short] = [await sums(gpu, 2500), await sums(gpu, 20)]
  const quiet = { signal, unit: () => {} }
  const alone = [await long.sum(quiet), await short.sum(quiet)]
  /** @returns how many units of the long sum ended between the begin and the end of the urgent one */
  const interrupt = async (): Promise<number> => {
    let units = 0
    let begun: () => void = () => {}
    const under = new Promise<void>((resolve) => {
      begun = resolve
    })
    const interrupted = long.sum({
      signal,
      order: 1,
      unit: () => {
        units++
        begun()
      },
    })
    await under
    const before = units
    const urgent = await short.sum({ signal, urgent: true, order: 2, unit: () => {} })
    const during = units - before
    const ended = await interrupted
    assert.deepEqual([urgent, ended], [alone[1], alone[0]])
    assert.ok(
      units > before + during,
      `${units} units, of which ${before} came before the urgent one: it interrupted nothing`,
    )
    return during
  }
  // A stream has two units submitted at most, the one that runs and the next. Where other work of the host holds the
  // urgent one up for longer than the others wait for it, one more may slip in: then it is tried again.
  let during = await interrupt()
  for (let tries = 1; during > 2 && tries < 4; tries++) during = await interrupt()
  assert.ok(during <= 2, `${during} units of the other came before the urgent one had ended`)
  long.release()
  short.release()
}

export const urgentChecks: Readonly<Record<string, Check>> = { 'urgent units pass others': passes }
