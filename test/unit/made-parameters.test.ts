/** Parameters that a device makes in its memory, on a device whose set-up gives the points of bigints. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { encodeG1, encodeG2 } from '../../src/curve/encoding.ts'
import { G1, G2 } from '../../src/curve/points.ts'
import { makeParameters } from '../../src/device/made-parameters.ts'
import { frFromBytes } from '../../src/field/fr.ts'
import { proveBatch } from '../../src/groth16/prove-batch.ts'
import type { DeviceSetup, ProvingDevice, Run } from '../../src/groth16/proving-device.ts'
import { verifyProofs } from '../../src/groth16/verify.ts'
import { type PointRange, paramsLayout, QUERY_GROUP } from '../../src/params/layout.ts'
import type { LocatedParameters, ParametersLocation } from '../../src/params/parameters-location.ts'
import { openVerifyingKey } from '../../src/params/srs-file.ts'
import type { ToxicWaste } from '../../src/params/toxic-waste.ts'
import { madeOnDevice } from '../../src/srs/made-on-device.ts'
import { ReferenceDevice } from '../support/reference-device.ts'
import { referenceSetupScalars } from '../support/reference-setup.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { tinyCircuit, tinyWitness } from '../support/tiny-circuit.ts'

const directory = temporaryDirectory()
afterAll(() => removeDirectory(directory))

const shape = tinyCircuit()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }

/** A reference device that also makes set-ups, and counts them. */
function settingUp(): { device: ProvingDevice; reference: ReferenceDevice; counts: { open: number; made: number } } {
  const reference = new ReferenceDevice()
  const counts = { open: 0, made: 0 }
  const openSetup = async (_: unknown, toxic: ToxicWaste, run: Run): Promise<DeviceSetup> => {
    run.signal.throwIfAborted()
    counts.open++
    const scalars = referenceSetupScalars(shape, toxic)
    const point = (group: 'g1' | 'g2', scalar: bigint): Uint8Array =>
      group === 'g1' ? encodeG1(G1.BASE.multiplyUnsafe(scalar)) : encodeG2(G2.BASE.multiplyUnsafe(scalar))
    const many = (group: 'g1' | 'g2', bytes: Uint8Array): Uint8Array[] =>
      Array.from({ length: bytes.length / 32 }, (_, i) => point(group, frFromBytes(bytes, 32 * i)))
    const { alpha, beta, gamma, delta } = toxic
    const verifyingKey = Buffer.concat([
      point('g1', alpha),
      point('g1', beta),
      point('g2', beta),
      point('g2', gamma),
      point('g1', delta),
      point('g2', delta),
      Uint8Array.of(0, 0, 0, shape.inputs),
      ...many('g1', scalars.ic),
    ])
    let released = false
    const encoded = ({ query, first, count }: PointRange): Uint8Array =>
      Buffer.concat(many(QUERY_GROUP[query], scalars.query(query, first, count)))
    return {
      verifyingKey: new Uint8Array(verifyingKey),
      encode: (range, take) => take(0, encoded(range)),
      points: async (range, of) => {
        counts.made++
        const bytes = encoded(range)
        const size = bytes.length / range.count
        return reference.loadPoints(
          QUERY_GROUP[range.query],
          range.count,
          async (first, target) => target.set(bytes.subarray(first * size, first * size + target.length)),
          of,
        )
      },
      release: async () => {
        if (!released) counts.open--
        released = true
      },
    }
  }
  return { device: Object.assign(reference, { openSetup }), reference, counts }
}

const located = (name: string): Promise<LocatedParameters> =>
  madeOnDevice(join(directory, name))(shape.circuitId, { allowDevelopment: true })

const make = (
  device: ProvingDevice,
  location: LocatedParameters,
  options: { readonly keep: boolean },
  run: Run,
): ReturnType<typeof makeParameters> => makeParameters(device, shape, location, location.secrets, options, run)

async function provesAndVerifies(
  device: ProvingDevice,
  { points, file }: Awaited<ReturnType<typeof makeParameters>>,
  location: ParametersLocation,
): Promise<void> {
  const deviceShape = await device.loadShape(shape)
  const witness = tinyWitness(3n, 1)
  try {
    const [proof] = await proveBatch({ device, shape: deviceShape, witnesses: [witness], points, key: file.key }, idle)
    // As the verifying worker reads it.
    const key = await openVerifyingKey(location)
    expect(verifyProofs(key, [[witness.inputs.subarray(32)]], proof as Uint8Array)).toBe(true)
    expect(verifyProofs(key, [[new Uint8Array(32).fill(1)]], proof as Uint8Array)).toBe(false)
  } finally {
    deviceShape.release()
  }
}

describe('parameters made on a device', () => {
  it('are kept, give up the columns, and prove what verifies with the key they wrote', async () => {
    const { device, counts } = settingUp()
    const location = await located('kept')
    const shares: number[] = []
    const run = { ...idle, unit: (share: number) => void shares.push(share) }
    const made = await make(device, location, { keep: true }, run)
    expect(counts).toEqual({ open: 0, made: made.points.ranges.length })
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(readdirSync(join(directory, 'kept'))).toEqual(['dev-winning-2k.vk'])
    expect(readFileSync(location.vkFile).length).toBe(paramsLayout(shape).vkBytes)
    await provesAndVerifies(device, made, location)
    expect(counts).toEqual({ open: 0, made: made.points.ranges.length })
    // What was given up is made again, of the same secrets.
    made.points.release()
    await provesAndVerifies(device, made, location)
    expect(counts).toEqual({ open: 1, made: 2 * made.points.ranges.length })
    await made.file.close()
    made.points.release()
    await new Promise(setImmediate)
    expect(counts.open).toBe(0)
  })

  it('that are not kept are made in every pass', async () => {
    const { device, counts } = settingUp()
    const location = await located('streamed')
    const made = await make(device, location, { keep: false }, idle)
    expect(counts).toEqual({ open: 1, made: 0 })
    await provesAndVerifies(device, made, location)
    await provesAndVerifies(device, made, location)
    expect(counts).toEqual({ open: 1, made: 2 * made.points.ranges.length })
    await made.file.close()
    await new Promise(setImmediate)
    expect(counts.open).toBe(0)
  })

  it('aborted, they leave nothing open', async () => {
    const { device, counts } = settingUp()
    const controller = new AbortController()
    const reason = new Error('enough')
    const run = { signal: controller.signal, unit: (share: number) => void (share > 0.3 && controller.abort(reason)) }
    await expect(make(device, await located('aborted'), { keep: true }, run)).rejects.toBe(reason)
    await new Promise(setImmediate)
    expect(counts.open).toBe(0)
  })

  it('one set-up is begun for all who wait for it, and stops when nobody waits any more', async () => {
    const { device, counts } = settingUp()
    const { openSetup } = device as Required<ProvingDevice>
    const signals: AbortSignal[] = []
    let begin = (): void => {}
    Object.assign(device, {
      openSetup: async (...[of, secrets, run]: Parameters<typeof openSetup>) => {
        signals.push(run.signal)
        if (signals.length > 1) {
          await new Promise<void>((resolve) => {
            begin = resolve
          })
        }
        run.signal.throwIfAborted()
        return await openSetup.call(device, of, secrets, run)
      },
    })
    const made = await make(device, await located('shared'), { keep: true }, idle)
    made.points.release()
    expect([signals.length, counts.open]).toEqual([1, 0])
    const controllers = [new AbortController(), new AbortController()]
    const pass = ({ signal }: AbortController): Promise<void> =>
      made.points.pass(
        () => ({ ...idle, signal }),
        async () => {},
      )
    const passes = controllers.map(pass)
    const reasons = controllers.map((_, k) => new Error(`enough of ${k}`))
    const ended = passes.map((passing, k) => expect(passing).rejects.toBe(reasons[k]))
    await new Promise(setImmediate)
    expect(signals.length).toBe(2)
    controllers[0]?.abort(reasons[0])
    await ended[0]
    expect(signals[1]?.aborted).toBe(false)
    controllers[1]?.abort(reasons[1])
    await ended[1]
    expect(signals[1]?.aborted).toBe(true)
    const closed = made.file.close()
    begin()
    await closed
    expect(counts.open).toBe(0)
  })

  it('a device that makes none is named, and so is a key that can not be written', async () => {
    const cpu = new ReferenceDevice()
    await expect(make(cpu, await located('none'), { keep: true }, idle)).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED_PROOF',
      details: { device: cpu.name },
    })
    writeFileSync(join(directory, 'file'), '')
    const { device, counts } = settingUp()
    const location = await located('file')
    await expect(make(device, location, { keep: true }, idle)).rejects.toMatchObject({
      code: 'ERR_SRS_UNAVAILABLE',
      details: { file: location.vkFile },
    })
    await new Promise(setImmediate)
    expect(counts.open).toBe(0)
    expect(existsSync(location.vkFile)).toBe(false)
  })
})

describe('where they are looked up', () => {
  it('only with allowDevelopmentParameters', async () => {
    await expect(madeOnDevice(directory)('wpost-32g')).rejects.toMatchObject({ code: 'ERR_DEVELOPMENT_PARAMETERS' })
  })

  it('secrets are drawn once a circuit, anew in each engine, and survive the way to a worker', async () => {
    const locate = madeOnDevice(directory)
    const options = { allowDevelopment: true }
    const first = await locate('porep-32g', options)
    expect(await locate('porep-32g', options)).toBe(first)
    const others = [await locate('snap-32g', options), await madeOnDevice(directory)('porep-32g', options)]
    for (const other of others) {
      expect(other.paramsDigest).not.toBe(first.paramsDigest)
      expect(other.secrets?.tau).not.toBe(first.secrets?.tau)
    }
    expect(first.development).toBe(true)
    expect(structuredClone(first)).toEqual(first)
  })
})
