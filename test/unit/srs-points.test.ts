/** Points that stay on a device: when they are imported, and when a batch may have those of all queries at once. */
import { expect, test } from 'vitest'
import type { ProvingDevice, Run } from '../../src/groth16/proving-device.ts'
import { SrsPoints, type SrsPointsOptions } from '../../src/groth16/srs-points.ts'
import { paramsLayout, QUERIES } from '../../src/params/layout.ts'
import type { SrsSource } from '../../src/params/srs-source.ts'
import { tinyCircuit } from '../support/tiny-circuit.ts'

const layout = paramsLayout(tinyCircuit())
const source: SrsSource = { layout, name: 'tiny', readInto: async () => {}, close: async () => {} }
const idle: Run = { signal: new AbortController().signal, unit: () => {} }

function setUp(options: SrsPointsOptions): { readonly srs: SrsPoints; readonly imports: number[] } {
  const imports: number[] = []
  const device = {
    rangePoints: () => 2 ** 10,
    loadPoints: async (group: 'g1' | 'g2', count: number, _: unknown, { unit }: Run) => {
      imports.push(count)
      unit(1)
      return { group, count, release: () => {} }
    },
  }
  return { srs: new SrsPoints(device as unknown as ProvingDevice, source, options), imports }
}

test('are loaded once, with shares that rise to 1', async () => {
  const { srs, imports } = setUp({ keep: true })
  const shares: number[] = []
  await srs.load({ ...idle, unit: (share) => void shares.push(share) })
  await srs.load(idle)
  await srs.pass(
    () => idle,
    async () => {},
  )
  expect(imports).toEqual(QUERIES.map((query) => layout.queries[query].points))
  expect(shares.map((share) => Math.round(100 * share))).toEqual([20, 40, 60, 80, 100])
})

test('are not loaded where some are streamed, nor after an abort', async () => {
  const streamed = setUp({ keep: new Set(['h', 'l']) })
  await streamed.srs.load(idle)
  expect(streamed.imports).toEqual([])
  const reason = new Error('enough')
  await expect(setUp({ keep: true }).srs.load({ ...idle, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})

test('are had together once all of them are there, each in one range', async () => {
  const { srs } = setUp({ keep: true })
  expect(srs.together(async () => 1)).toBeUndefined()
  await srs.load(idle)
  const counts = await srs.together(async (points) => QUERIES.map((query) => points[query].count))
  expect(counts).toEqual(QUERIES.map((query) => layout.queries[query].points))
  // Whoever gets them may decline.
  expect(srs.together(() => undefined)).toBeUndefined()
  const cut = setUp({ keep: true, rangePoints: { g1: 4, g2: 4 } })
  await cut.srs.load(idle)
  expect(cut.srs.together(async () => 1)).toBeUndefined()
  srs.release()
  expect(srs.together(async () => 1)).toBeUndefined()
})

test('stay while they are used together', async () => {
  const { srs } = setUp({ keep: true })
  await srs.load(idle)
  let end = (): void => {}
  const using = srs.together(
    () =>
      new Promise<void>((resolve) => {
        end = resolve
      }),
  )
  expect(() => srs.keep(new Set())).toThrow('while a pass uses it')
  end()
  await using
  srs.keep(new Set())
  expect(srs.kept).toEqual([])
})
