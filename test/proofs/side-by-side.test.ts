/**
 * Partitions side by side on a real device: they share a pass, or one passes the other; the bytes are the reference's
 * either way.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import type { CompactWitness } from '../../src/circuit/shape.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { proveBatch } from '../../src/groth16/prove-batch.ts'
import type { DeviceShape, Run } from '../../src/groth16/proving-device.ts'
import { type PointSource, SharedPass } from '../../src/groth16/shared-pass.ts'
import { SrsPoints } from '../../src/groth16/srs-points.ts'
import type { SrsFile } from '../../src/params/srs-file.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { window3Request } from '../support/fixtures.ts'
import { makeRecordedParameters, openParameters } from '../support/parameters.ts'
import { idle, recordedProof } from '../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const THREADS = 2
const shape = circuitShape('wpost-2k')
const recorded = recordedProof('2KiB/a/proof-window-3.json')
const directory = temporaryDirectory()
const witnesses: CompactWitness[] = []
let device: CpuDevice
let deviceShape: DeviceShape
let source: SrsFile
let imports = 0

beforeAll(async () => {
  device = await CpuDevice.create({ threads: THREADS })
  await makeRecordedParameters(device, shape, directory, '2KiB', 'window')
  source = await openParameters(shape, directory)
  deviceShape = await device.loadShape(shape)
  const hasher = new WasmPoseidonHasher()
  for (const partition of await takeOver(validateRequest(window3Request()))) {
    witnesses.push(await checkAndSynthesize(partition, hasher, idle))
  }
  const load = device.loadPoints.bind(device)
  device.loadPoints = (...args) => {
    imports++
    return load(...args)
  }
}, 300_000)

afterAll(async () => {
  await source?.close()
  await device?.close()
  removeDirectory(directory)
})

/** One partition with the blinding of the recorded proof. @returns its 192 bytes in hex */
async function prove(partition: number, points: PointSource, run: Run): Promise<string> {
  const witness = witnesses[partition] as CompactWitness
  const input = { device, shape: deviceShape, witnesses: [witness], points, key: source.key }
  const [proof] = await proveBatch(input, run, recorded.blindings.slice(partition, partition + 1))
  return Buffer.from(proof as Uint8Array).toString('hex')
}

const expected = [0, 1].map((k) => Buffer.from(recorded.proof.subarray(192 * k, 192 * (k + 1))).toString('hex'))

test('two that begin together import each range once', { timeout: 300_000 }, async () => {
  const points = new SrsPoints(device, source, { keep: false })
  const shared = new SharedPass(points)
  const runs = [0, 1].map((order): Run => ({ ...idle, order }))
  const places = runs.map((run) => shared.announce(run))
  imports = 0
  const proofs = await Promise.all(places.map((place, k) => prove(k, place, runs[k] as Run)))
  for (const place of places) place[Symbol.dispose]()
  expect(proofs).toEqual(expected)
  expect(imports).toBe(points.ranges.length)
  points.release()
})

test('an abort of one leaves the other its proof', { timeout: 300_000 }, async () => {
  const points = new SrsPoints(device, source, { keep: false })
  const shared = new SharedPass(points)
  const abort = new AbortController()
  const aborted: Run = { signal: abort.signal, order: 0, unit: (share) => share > 0.5 && abort.abort('enough') }
  const whole: Run = { ...idle, order: 1 }
  const places = [shared.announce(aborted), shared.announce(whole)] as const
  const results = await Promise.allSettled([prove(0, places[0], aborted), prove(1, places[1], whole)])
  expect(results).toEqual([
    { status: 'rejected', reason: 'enough' },
    { status: 'fulfilled', value: expected[1] },
  ])
  points.release()
})

test('one that is urgent begins within a unit, ends first, and changes no byte of the other', {
  timeout: 300_000,
}, async () => {
  const points = new SrsPoints(device, source, { keep: true })
  await prove(0, points, idle)
  const ends: string[] = []
  let units = 0
  let under: () => void = () => {}
  const midway = new Promise<void>((resolve) => {
    under = resolve
  })
  const unit = (share: number): void => {
    units++
    if (share > 0.4) under()
  }
  const normal = prove(0, points, { signal: idle.signal, order: 0, unit }).finally(() => ends.push('normal'))
  await midway
  const from = performance.now()
  const before = units
  let first: { readonly ms: number; readonly others: number } | undefined
  const urgent = await prove(1, points, {
    signal: idle.signal,
    urgent: true,
    unit: () => {
      first ??= { ms: performance.now() - from, others: units - before }
    },
  }).finally(() => ends.push('urgent'))
  expect([await normal, urgent]).toEqual(expected)
  expect(ends).toEqual(['urgent', 'normal'])
  console.log(`the urgent one's first unit was done after ${first?.ms.toFixed(0)} ms, ${first?.others} of the other's`)
  // Those that were on the threads already.
  expect(first?.others).toBeLessThanOrEqual(2 * THREADS)
  points.release()
})
