import { mkdirSync, readFileSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeG1, encodeG2 } from '../../src/curve/encoding.ts'
import { G1, G2 } from '../../src/curve/points.ts'
import { SrsUnavailableError } from '../../src/errors.ts'
import { frFromBytes, frInv, frMul, frReduce } from '../../src/field/fr.ts'
import { assembleProof, blindElements } from '../../src/groth16/assemble.ts'
import { type Blinding, randomBlinding, randomScalar } from '../../src/groth16/blinding.ts'
import { decodeProof } from '../../src/groth16/proof.ts'
import { proveBatch } from '../../src/groth16/prove-batch.ts'
import type { Assignment, DevicePoints, ProvingDevice, Run } from '../../src/groth16/proving-device.ts'
import { SrsPoints, type SrsPointsOptions } from '../../src/groth16/srs-points.ts'
import { verifyProofs } from '../../src/groth16/verify.ts'
import { shapeFingerprint } from '../../src/params/development-marker.ts'
import { bytesDigest } from '../../src/params/digest.ts'
import { paramsLayout, QUERIES, type Query } from '../../src/params/layout.ts'
import { SrsFile } from '../../src/params/srs-file.ts'
import type { ToxicWaste } from '../../src/params/toxic-waste.ts'
import { setupFromScalars } from '../../src/srs/setup-from-scalars.ts'
import { writeParameters } from '../../src/srs/write-parameters.ts'
import { completeAssignment, ReferenceDevice, type ReferenceDeviceOptions } from '../support/reference-device.ts'
import { referenceSetupScalars } from '../support/reference-setup.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { tinyCircuit, tinyWitness } from '../support/tiny-circuit.ts'

const shape = tinyCircuit()
const toxic: ToxicWaste = {
  g1: encodeG1(G1.BASE.multiplyUnsafe(3n)),
  g2: encodeG2(G2.BASE.multiplyUnsafe(5n)),
  alpha: 1234567n,
  beta: 7654321n ** 5n,
  gamma: 99n ** 9n,
  delta: 12n ** 20n,
  tau: 31n ** 31n,
}
const idle: Run = { signal: new AbortController().signal, unit: () => {} }
const directory = temporaryDirectory()
const paramsFile = join(directory, 'tiny.params')
const vkFile = join(directory, 'tiny.vk')
const location = { circuitId: shape.circuitId, development: true, paramsFile, vkFile }
let digests: { paramsDigest: string; vkDigest: string }

const openTiny = (): Promise<SrsFile> =>
  SrsFile.open({ ...location, ...digests, circuitFingerprint: shapeFingerprint(shape) }, shape, idle)

beforeAll(async () => {
  process.env.XDG_CACHE_HOME = join(directory, 'cache')
  mkdirSync(process.env.XDG_CACHE_HOME)
  const handle = await open(paramsFile, 'w')
  const shares: number[] = []
  const run = { signal: idle.signal, unit: (share: number) => void shares.push(share) }
  const setup = await setupFromScalars(new ReferenceDevice(), toxic, referenceSetupScalars(shape, toxic), idle)
  const written = await writeParameters(setup, 'cpu', shape, { path: paramsFile, handle }, run)
  await handle.close()
  await writeFile(vkFile, written.verifyingKey)
  digests = { paramsDigest: written.paramsDigest, vkDigest: bytesDigest(written.verifyingKey) }
  expect(written.paramsDigest).toBe(bytesDigest(readFileSync(paramsFile)))
  expect(shares).toEqual([...shares].sort((a, b) => a - b))
  expect(shares.at(-1)).toBe(1)
})
afterAll(() => {
  delete process.env.XDG_CACHE_HOME
  removeDirectory(directory)
})

const witnesses = [tinyWitness(3n, 1), tinyWitness(2n ** 200n + 7n, 0), tinyWitness(0n, 1)]
const inputsOf = (k: number): Uint8Array[] => [(witnesses[k] as { inputs: Uint8Array }).inputs.slice(32)]

interface ProveOptions extends ReferenceDeviceOptions {
  readonly which?: number[]
  readonly blindings?: Blinding[]
  readonly keep?: SrsPointsOptions['keep']
  readonly run?: Run
  readonly passes?: number
  /** On a device that sums all queries at once. */
  readonly joint?: boolean
}

class JointDevice extends ReferenceDevice {
  async #sums(
    points: Readonly<Record<Query, DevicePoints>>,
    assignments: readonly Assignment[],
    run: Run,
  ): Promise<Record<Query, Uint8Array>[]> {
    this.calls.push('together')
    const sums = assignments.map(() => ({}) as Record<Query, Uint8Array>)
    for (const [k, query] of QUERIES.entries()) {
      const own = await this.multiexp(points[query], query, 0, assignments, { ...run, unit: () => {} })
      for (const [j, sum] of own.entries()) (sums[j] as Record<Query, Uint8Array>)[query] = sum
      run.unit((k + 1) / QUERIES.length)
    }
    return sums
  }

  sumQueries(...args: Parameters<NonNullable<ProvingDevice['sumQueries']>>): Promise<Record<Query, Uint8Array>[]> {
    return this.#sums(...args)
  }
}

async function prove(options: ProveOptions = {}): Promise<{ proofs: Uint8Array[]; device: ReferenceDevice }> {
  const device = options.joint ? new JointDevice(options) : new ReferenceDevice(options)
  const source = await openTiny()
  const deviceShape = await device.loadShape(shape)
  // Queries are summed at once only where each is one range.
  const rangePoints = options.joint ? { g1: 64, g2: 64 } : undefined
  const points = new SrsPoints(device, source, { keep: options.keep ?? false, rangePoints })
  try {
    let proofs: Uint8Array[] = []
    for (let pass = 0; pass < (options.passes ?? 1); pass++) {
      proofs = await proveBatch(
        {
          device,
          shape: deviceShape,
          witnesses: (options.which ?? [0]).map((k) => witnesses[k] as (typeof witnesses)[0]),
          points,
          key: source.key,
        },
        options.run ?? idle,
        options.blindings,
      )
    }
    return { proofs, device }
  } finally {
    points.release()
    deviceShape.release()
    await source.close()
    // Whatever happened, nothing is left on the device.
    expect(device.live).toBe(0)
  }
}

const verifies = async (k: number, proof: Uint8Array): Promise<boolean> => {
  const source = await openTiny()
  await source.close()
  return verifyProofs(source.key, [inputsOf(k)], proof)
}

describe('a batch on the reference device', () => {
  it('the circuit is small enough to see', () => {
    expect(shape).toMatchObject({ inputs: 2, aux: 4, constraints: 4, log2Domain: 3 })
    expect(paramsLayout(shape).queries).toMatchObject({ h: { points: 7 }, l: { points: 4 }, b_g2: { points: 4 } })
  })

  it('proves, and the proofs verify, alone and together', async () => {
    const { proofs } = await prove({ which: [0, 1, 2] })
    for (const [k, proof] of proofs.entries()) expect(await verifies(k, proof)).toBe(true)
    expect(await verifies(1, proofs[0] as Uint8Array)).toBe(false)
    const { key } = await openTiny().then(async (source) => {
      await source.close()
      return source
    })
    const together = new Uint8Array(Buffer.concat(proofs))
    expect(verifyProofs(key, [0, 1, 2].map(inputsOf), together)).toBe(true)
  })

  it('sums all queries at once where their points stayed, with the same bytes', async () => {
    const blindings = [11n, 22n].map((r): Blinding => ({ r, s: r * 1000n }))
    const shares: number[] = []
    const run: Run = { ...idle, unit: (share) => void shares.push(share) }
    const { proofs, device } = await prove({ which: [0, 1], blindings, keep: true, passes: 2, joint: true, run })
    expect(device.calls.filter((call) => call === 'together').length).toBe(1)
    expect(proofs).toEqual((await prove({ which: [0, 1], blindings })).proofs)
    // They fall once, between the passes.
    expect(shares.filter((share, i) => share < (shares[i - 1] ?? 0)).length).toBe(1)
    expect(shares.at(-1)).toBeCloseTo(1)
    // Streamed points are summed range by range.
    const streamed = await prove({ blindings, passes: 2, joint: true })
    expect(streamed.device.calls).not.toContain('together')
  })

  it('is blinded: other bytes each time', async () => {
    const [first, second] = [await prove(), await prove()]
    expect(first.proofs).not.toEqual(second.proofs)
  })

  it('of three equals three of one, in one pass over the parameters', async () => {
    const blindings = [11n, 22n, 33n].map((r): Blinding => ({ r, s: r * 1000n }))
    const together = await prove({ which: [0, 1, 2], blindings })
    const alone = []
    for (const k of [0, 1, 2])
      alone.push((await prove({ which: [k], blindings: [blindings[k] as Blinding] })).proofs[0])
    expect(together.proofs).toEqual(alone)
    const imports = (device: ReferenceDevice): number => device.calls.filter((call) => call === 'loadPoints').length
    expect(imports(together.device)).toBe(imports((await prove()).device))
  })

  it('does not depend on how the queries are cut', async () => {
    const blindings = [{ r: 5n, s: 6n }]
    const whole = await prove({ blindings, rangePoints: 100 })
    const single = await prove({ blindings, rangePoints: 1 })
    expect(single.proofs).toEqual(whole.proofs)
  })

  it('keeps points for the next batch if told so', async () => {
    const blindings = [{ r: 5n, s: 6n }]
    const kept = await prove({ blindings, keep: true, passes: 2 })
    const streamed = await prove({ blindings, passes: 2 })
    const imports = (device: ReferenceDevice): number => device.calls.filter((call) => call === 'loadPoints').length
    expect(imports(streamed.device)).toBe(2 * imports(kept.device))
    expect(kept.proofs).toEqual(streamed.proofs)
  })

  it('has points checked when they are read first, and again once the circuit was opened anew', async () => {
    const { device } = await prove({ passes: 3, rangePoints: 3 })
    // h 7, l 4, a 6, b_g1 4 and b_g2 4 points in ranges of 3: 11 ranges a pass.
    expect(device.checks).toEqual(Array.from({ length: 33 }, (_, i) => i < 11))
    const source = await openTiny()
    for (let opened = 0; opened < 2; opened++) {
      const points = new SrsPoints(device, source, { keep: false })
      await points.pass(
        () => idle,
        async () => {},
      )
      points.release()
    }
    await source.close()
    expect(device.checks.slice(33).every((checked) => checked)).toBe(true)
  })

  it('has points checked again of which one was bad', async () => {
    const source = await openTiny()
    let bad = true
    const spoiled = {
      layout: source.layout,
      name: source.name,
      close: () => source.close(),
      async readInto(query: Query, first: number, target: Uint8Array): Promise<void> {
        await source.readInto(query, first, target)
        if (bad && query === 'h') target[95] = (target[95] as number) ^ 1
      },
    }
    const device = new ReferenceDevice()
    const points = new SrsPoints(device, spoiled, { keep: false })
    const pass = (): Promise<void> =>
      points.pass(
        () => idle,
        async () => {},
      )
    await expect(pass()).rejects.toMatchObject({ code: 'ERR_SRS_UNAVAILABLE' })
    bad = false
    const before = device.checks.length
    await pass()
    expect(device.checks[before]).toBe(true)
    points.release()
    await source.close()
  })

  it('keeps those of some queries', async () => {
    const blindings = [{ r: 5n, s: 6n }]
    const imports = (device: ReferenceDevice): number => device.calls.filter((call) => call === 'loadPoints').length
    const keep = new Set(['h', 'b_g2'] as const)
    const some = await prove({ blindings, keep, passes: 2, rangePoints: 3 })
    // h 7, l 4, a 6, b_g1 4 and b_g2 4 points in ranges of 3: 3 + 2 + 2 + 2 + 2 ranges, of which 3 + 2 are kept.
    expect(imports(some.device)).toBe(2 * 11 - 5)
    expect(some.proofs).toEqual((await prove({ blindings })).proofs)
  })

  it('imports the next range while one is used, and never more', async () => {
    const seen: string[] = []
    let most = 0
    const device = new ReferenceDevice({
      rangePoints: 2,
      before: (operation) => {
        seen.push(operation)
        most = Math.max(most, device.live)
      },
    })
    const source = await openTiny()
    const deviceShape = await device.loadShape(shape)
    const points = new SrsPoints(device, source, { keep: false })
    const input = { device, shape: deviceShape, witnesses: witnesses.slice(0, 1), points, key: source.key }
    await proveBatch(input, idle)
    // As an operation begins: the shape, the assignment, and a range; the next one is being imported.
    expect(most).toBe(3)
    const first = seen.indexOf('multiexp h')
    expect(seen.slice(first - 2, first + 1)).toEqual(['loadPoints', 'loadPoints', 'multiexp h'])
    points.release()
    deviceShape.release()
    await source.close()
    expect(device.live).toBe(0)
  })

  it('equals the discrete logarithms', async () => {
    // With the secrets known, all of a proof can be computed in the exponent: a·b = α·β + x·γ + c·δ.
    const { r, s } = { r: 123n, s: 456n }
    const { proofs } = await prove({ blindings: [{ r, s }] })
    const z = completeAssignment(shape, witnesses[0] as (typeof witnesses)[0])
    const scalars = referenceSetupScalars(shape, toxic)
    const list = (bytes: Uint8Array): bigint[] =>
      Array.from({ length: bytes.length / 32 }, (_, i) => frFromBytes(bytes, 32 * i))
    const { a, l, b_g1 } = paramsLayout(shape).queries
    const dot = (x: readonly bigint[], y: readonly bigint[]): bigint =>
      frReduce(x.reduce((sum, value, i) => sum + value * (y[i] as bigint), 0n))
    // Order of a: y, ONE first as inputs, then x, bit, … by density; A and B occur as this circuit is written.
    const aux = z.slice(shape.inputs)
    const [bit, x, x2, x4] = aux as [bigint, bigint, bigint, bigint]
    const aExponent = frReduce(
      toxic.alpha + dot(list(scalars.query('a', 0, a.points)), [...z.slice(0, 2), bit, x, x2, x4]) + r * toxic.delta,
    )
    const bSum = dot(list(scalars.query('b_g1', 0, b_g1.points)), [1n, bit, x, x2])
    const bExponent = frReduce(toxic.beta + bSum + s * toxic.delta)
    const ic = dot(list(scalars.ic), z.slice(0, 2))
    const c = frMul(
      frReduce(aExponent * bExponent - toxic.alpha * toxic.beta - ic * toxic.gamma),
      frInv(frReduce(toxic.delta)),
    )
    expect(l.points).toBe(4)
    const g1 = (k: bigint): string => Buffer.from(encodeG1(G1.BASE.multiplyUnsafe(frReduce(3n * k)))).toString('hex')
    const proof = proofs[0] as Uint8Array
    const points = decodeProof(proof)
    expect(Buffer.from(encodeG1(points.a)).toString('hex')).toBe(g1(aExponent))
    expect(encodeG2(points.b)).toEqual(encodeG2(G2.BASE.multiplyUnsafe(frReduce(5n * bExponent))))
    expect(Buffer.from(encodeG1(points.c)).toString('hex')).toBe(g1(c))
  })

  it('an unsatisfied witness gives a proof that does not verify', async () => {
    const wrong = { ...tinyWitness(3n, 1), bits: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0) }
    witnesses.push(wrong)
    const { proofs } = await prove({ which: [3] })
    expect(await verifies(3, proofs[0] as Uint8Array)).toBe(false)
    witnesses.pop()
  })
})

describe('progress', () => {
  it('rises from 0 to 1 without falling', async () => {
    const shares: number[] = []
    const passed: string[] = []
    const run: Run = {
      signal: idle.signal,
      unit: (share) => void shares.push(share),
      passed: (milestone) => void passed.push(milestone),
    }
    await prove({ which: [0, 1], run })
    // Of the whole batch, once each.
    expect(passed).toEqual(['taken', 'divided'])
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares[0]).toBeGreaterThan(0)
    expect(shares.at(-1)).toBeCloseTo(1, 10)
  })
})

describe('abort and failure', () => {
  const operations = ['assign', 'quotient', 'loadPoints', 'multiexp h', 'multiexp a', 'multiexp b_g2']

  it.each(operations)('in %s: rejects with the reason and frees everything', async (operation) => {
    const controller = new AbortController()
    const reason = new Error('not wanted any more')
    const before = (name: string): void => {
      if (name === operation) controller.abort(reason)
    }
    const run = { signal: controller.signal, unit: () => {} }
    await expect(prove({ which: [0, 1], before, run })).rejects.toBe(reason)
  })

  it.each(operations)('a failure in %s comes out and frees everything', async (operation) => {
    const failure = new Error('the device failed')
    const before = (name: string): void => {
      if (name === operation) throw failure
    }
    await expect(prove({ which: [0, 1], before, keep: true })).rejects.toBe(failure)
  })

  it('before it starts', async () => {
    const run = { signal: AbortSignal.abort(new Error('early')), unit: () => {} }
    await expect(prove({ run })).rejects.toThrow('early')
  })

  it('a bad point is named by file, query and index', async () => {
    const { offset } = paramsLayout(shape).queries.l
    const bytes = readFileSync(paramsFile)
    const bad = Buffer.from(bytes)
    bad[offset + 2 * 96 + 95] = (bad[offset + 2 * 96 + 95] as number) ^ 1
    const badFile = join(directory, 'bad.params')
    await writeFile(badFile, bad)
    const source = await SrsFile.open(
      { ...location, paramsFile: badFile, vkDigest: digests.vkDigest, paramsDigest: bytesDigest(bad) },
      shape,
      idle,
    )
    const device = new ReferenceDevice({ rangePoints: 2 })
    const deviceShape = await device.loadShape(shape)
    const points = new SrsPoints(device, source, { keep: true })
    const error = await proveBatch(
      { device, shape: deviceShape, witnesses: witnesses.slice(0, 1), points, key: source.key },
      idle,
    ).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(SrsUnavailableError)
    expect(error).toMatchObject({
      details: {
        file: badFile,
        expected: 'a point of the curve other than infinity',
        received: expect.stringMatching(/^l\[2\]/),
      },
    })
    points.release()
    deviceShape.release()
    await source.close()
    expect(device.live).toBe(0)
  })
})

describe('blinding', () => {
  it('is below r and never the same', () => {
    const values = Array.from({ length: 50 }, () => randomScalar())
    expect(new Set(values).size).toBe(50)
    expect(values.every((value) => value < 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n)).toBe(
      true,
    )
    // 255 bits are in use: among 50 values one has bit 254 set, except with probability 0.55^50.
    expect(values.some((value) => value >> 254n === 1n)).toBe(true)
  })

  it('assembly follows the formula', () => {
    const g = (k: bigint): Uint8Array => encodeG1(G1.BASE.multiplyUnsafe(k))
    const key = {
      alphaG1: G1.BASE.multiplyUnsafe(2n),
      betaG1: G1.BASE.multiplyUnsafe(3n),
      betaG2: G2.BASE.multiplyUnsafe(3n),
      deltaG1: G1.BASE.multiplyUnsafe(5n),
      deltaG2: G2.BASE.multiplyUnsafe(5n),
    }
    const { r, s } = randomBlinding()
    const sums = { h: g(7n), l: g(11n), a: g(13n), b_g1: g(17n), b_g2: encodeG2(G2.BASE.multiplyUnsafe(17n)) }
    // A = 2 + 13 + 5r, B = 3 + 17 + 5s, C = 7 + 11 + 13s + 17r + 5rs + 2s + 3r
    const expected = Buffer.concat([
      encodeG1(G1.BASE.multiplyUnsafe(frReduce(15n + 5n * r))),
      encodeG2(G2.BASE.multiplyUnsafe(frReduce(20n + 5n * s))),
      encodeG1(G1.BASE.multiplyUnsafe(frReduce(18n + 15n * s + 20n * r + 5n * r * s))),
    ])
    const proof = assembleProof(blindElements(key, { r, s }), sums)
    expect(proof.length).toBe(192)
    const { a, b, c } = decodeProof(proof)
    expect(Buffer.concat([encodeG1(a), encodeG2(b), encodeG1(c)])).toEqual(expected)
  })
})
