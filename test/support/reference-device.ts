/**
 * A device on bigints that does everything in the most direct way: the truth about what a device must answer, and
 * enough to test the prover on circuits of a few rows. Sums are made term by term, and the quotient by multiplying
 * polynomials out.
 */
import { testBit } from '../../src/circuit/bit-array.ts'
import {
  type CircuitShape,
  type CompactWitness,
  INPUT,
  KIND_MASK,
  NUMBER_MASK,
  type Template,
} from '../../src/circuit/shape.ts'
import { type Terms, walkRows } from '../../src/circuit/walk-rows.ts'
import { decodeG1, decodeG2, encodeG1, encodeG2, PointEncodingError } from '../../src/curve/encoding.ts'
import { G1, type G1Point, G2, type G2Point } from '../../src/curve/points.ts'
import { SrsUnavailableError } from '../../src/errors.ts'
import { FR_MODULUS, frFromBytes, frInv, frMul, frPow, frReduce, frSub } from '../../src/field/fr.ts'
import type {
  Assignment,
  DevicePoints,
  DeviceShape,
  LoadOptions,
  ProvingDevice,
  ReadPoints,
  Run,
} from '../../src/groth16/proving-device.ts'
import type { Query } from '../../src/params/layout.ts'

const words = (bits: Uint8Array): Uint32Array => new Uint32Array(bits.slice().buffer)

class ReferenceAssignment implements Assignment {
  readonly shape: DeviceShape
  readonly scalars: Partial<Record<Query, bigint[]>> = {}
  readonly rows: { a: bigint[]; b: bigint[] }
  readonly #onRelease: () => void

  constructor(shape: DeviceShape, rows: { a: bigint[]; b: bigint[] }, onRelease: () => void) {
    this.shape = shape
    this.rows = rows
    this.#onRelease = onRelease
  }

  release(): void {
    this.#onRelease()
  }
}

class ReferencePoints implements DevicePoints {
  readonly group: 'g1' | 'g2'
  readonly points: readonly (G1Point | G2Point)[]
  readonly #onRelease: () => void

  constructor(group: 'g1' | 'g2', points: readonly (G1Point | G2Point)[], onRelease: () => void) {
    this.group = group
    this.points = points
    this.#onRelease = onRelease
  }

  get count(): number {
    return this.points.length
  }

  release(): void {
    this.#onRelease()
  }
}

/** Values of all inputs, then all aux variables. */
export function completeAssignment(shape: CircuitShape, witness: CompactWitness): bigint[] {
  const { inputs, aux, coefficients } = shape
  const z = new Array<bigint | undefined>(inputs + aux)
  for (let k = 0; k < inputs; k++) z[k] = frFromBytes(witness.inputs, 32 * k)
  let [next, bits, wide] = [inputs, 0, 0]
  const fill = (template: Template): void => {
    for (const step of template.steps) {
      if (step.kind === 'child') fill(step.template)
      if (step.kind !== 'aux') continue
      for (let i = 0; i < step.count; i++, next++) {
        if (step.class === 'bit') z[next] = BigInt(((witness.bits[bits >> 3] as number) >> (bits++ & 7)) & 1)
        if (step.class === 'wide') z[next] = frFromBytes(witness.wide, 32 * wide++)
      }
    }
  }
  fill(shape.root)
  walkRows(shape, ({ a, b, c, defines }) => {
    if (defines < 0) return
    const at = inputs + defines
    let sign = 0n
    const rest = combine(c, z, coefficients, inputs, (j, coefficient) => {
      if (j !== at) return false
      sign = coefficient
      return true
    })
    const product = frMul(combine(a, z, coefficients, inputs), combine(b, z, coefficients, inputs))
    z[at] = frMul(sign, frSub(product, rest))
  })
  return z as bigint[]
}

function combine(
  terms: Terms,
  z: readonly (bigint | undefined)[],
  coefficients: readonly bigint[],
  inputs: number,
  skip: (j: number, coefficient: bigint) => boolean = () => false,
): bigint {
  let sum = 0n
  for (let k = 0; k < terms.count; k++) {
    const variable = terms.variables[k] as number
    const j = (variable & NUMBER_MASK) + ((variable & KIND_MASK) >>> 0 === INPUT ? 0 : inputs)
    const coefficient = coefficients[terms.coefficients[k] as number] as bigint
    if (skip(j, coefficient)) continue
    const value = z[j]
    if (value === undefined) throw new Error(`variable ${j} is read before it is known`)
    sum += coefficient * value
  }
  return frReduce(sum)
}

/** Coefficients of the polynomial that takes these values on the m-th roots of unity. */
function interpolate(values: readonly bigint[]): bigint[] {
  const m = values.length
  const omega = frPow(7n, (FR_MODULUS - 1n) / BigInt(m))
  return values.map((_, k) => {
    const step = frInv(frPow(omega, BigInt(k)))
    const sum = values.reduce((total, value, i) => total + value * frPow(step, BigInt(i)), 0n)
    return frMul(frReduce(sum), frInv(BigInt(m)))
  })
}

export interface ReferenceDeviceOptions {
  /** @default 4, so that even a tiny circuit has several ranges */
  readonly rangePoints?: number | undefined
  /** Called before every operation, with its name; may throw, or abort. */
  readonly before?: ((operation: string) => void) | undefined
}

export class ReferenceDevice implements ProvingDevice {
  readonly kind = 'cpu'
  readonly name = 'bigint reference'
  readonly maxLog2Domain = 8
  /** Shapes, assignments and points that are not released. */
  live = 0
  readonly calls: string[] = []
  /** Of each import, whether the points were to be checked. */
  readonly checks: boolean[] = []
  readonly #options: ReferenceDeviceOptions

  constructor(options: ReferenceDeviceOptions = {}) {
    this.#options = options
  }

  rangePoints(): number {
    return this.#options.rangePoints ?? 4
  }

  async loadShape(shape: CircuitShape): Promise<DeviceShape> {
    return { shape, release: this.#hold() }
  }

  async assign(deviceShape: DeviceShape, witness: CompactWitness, run: Run): Promise<Assignment> {
    await this.#begin('assign', run)
    const { shape } = deviceShape
    const { inputs, coefficients } = shape
    const z = completeAssignment(shape, witness)
    const rows = { a: [] as bigint[], b: [] as bigint[] }
    walkRows(shape, ({ a, b }) => {
      rows.a.push(combine(a, z, coefficients, inputs))
      rows.b.push(combine(b, z, coefficients, inputs))
    })
    // One row {input} · 0 = 0 for each input, then zeros up to the size of the domain.
    for (let k = 0; k < inputs; k++) {
      rows.a.push(z[k] as bigint)
      rows.b.push(0n)
    }
    while (rows.a.length < 2 ** shape.log2Domain) {
      rows.a.push(0n)
      rows.b.push(0n)
    }
    const assignment = new ReferenceAssignment(deviceShape, rows, this.#hold())
    const aux = z.slice(inputs)
    const dense = (density: Uint8Array): bigint[] => {
      const set = words(density)
      return aux.filter((_, j) => testBit(set, j))
    }
    const b = [1n, ...dense(shape.density.bAux)]
    Object.assign(assignment.scalars, {
      l: aux,
      a: [...z.slice(0, inputs), ...dense(shape.density.aAux)],
      b_g1: b,
      b_g2: b,
    })
    run.unit(1)
    return assignment
  }

  /** With a·b − c = h·(x^m − 1) and c of degree below m, h is the upper half of the product a·b. */
  async quotient(assignment: Assignment, run: Run): Promise<void> {
    await this.#begin('quotient', run)
    const { rows, scalars } = assignment as ReferenceAssignment
    const [a, b] = [interpolate(rows.a), interpolate(rows.b)]
    const m = a.length
    scalars.h = Array.from({ length: m - 1 }, (_, i) => {
      let sum = 0n
      for (let k = i + 1; k < m; k++) sum += (a[k] as bigint) * (b[m + i - k] as bigint)
      return frReduce(sum)
    })
    run.unit(1)
  }

  async loadPoints(
    group: 'g1' | 'g2',
    count: number,
    read: ReadPoints,
    run: Run,
    { checked = false }: LoadOptions = {},
  ): Promise<DevicePoints> {
    await this.#begin('loadPoints', run)
    this.checks.push(!checked)
    const size = group === 'g1' ? 96 : 192
    const decode = group === 'g1' ? decodeG1 : decodeG2
    const bytes = new Uint8Array(count * size)
    await read(0, bytes)
    const points = Array.from({ length: count }, (_, i) => {
      try {
        return decode(bytes.subarray(i * size, (i + 1) * size), { subgroup: false })
      } catch (error) {
        if (!(error instanceof PointEncodingError)) throw error
        throw new SrsUnavailableError(error.fault, { details: { received: String(i) } })
      }
    })
    run.unit(1)
    return new ReferencePoints(group, points, this.#hold())
  }

  async multiexp(
    points: DevicePoints,
    query: Query,
    first: number,
    assignments: readonly Assignment[],
    run: Run,
  ): Promise<Uint8Array[]> {
    await this.#begin(`multiexp ${query}`, run)
    const { group, points: decoded } = points as ReferencePoints
    const sums = assignments.map((assignment) => {
      const scalars = (assignment as ReferenceAssignment).scalars[query] as bigint[]
      const terms = decoded.map((point, i) => [point, scalars[first + i] as bigint] as const)
      if (group === 'g2') {
        return encodeG2(
          terms.reduce((sum, [point, scalar]) => sum.add((point as G2Point).multiplyUnsafe(scalar)), G2.ZERO),
        )
      }
      return encodeG1(
        terms.reduce((sum, [point, scalar]) => sum.add((point as G1Point).multiplyUnsafe(scalar)), G1.ZERO),
      )
    })
    run.unit(1)
    return sums
  }

  async fixedBaseMultiples(
    group: 'g1' | 'g2',
    base: Uint8Array,
    scalars: Uint8Array,
    out: Uint8Array,
    run: Run,
  ): Promise<void> {
    await this.#begin('fixedBaseMultiples', run)
    const size = group === 'g1' ? 96 : 192
    for (let i = 0; i < scalars.length / 32; i++) {
      const scalar = frFromBytes(scalars, 32 * i)
      const point =
        group === 'g1'
          ? encodeG1(decodeG1(base, { subgroup: true }).multiplyUnsafe(scalar))
          : encodeG2(decodeG2(base, { subgroup: true }).multiplyUnsafe(scalar))
      out.set(point, i * size)
    }
    run.unit(1)
  }

  async selfTest(): Promise<void> {}

  async close(): Promise<void> {}

  async #begin(operation: string, run: Run): Promise<void> {
    this.calls.push(operation)
    this.#options.before?.(operation)
    // As on a real device, something happens between a call and its answer.
    await new Promise((resolve) => setImmediate(resolve))
    run.signal.throwIfAborted()
  }

  #hold(): () => void {
    this.live++
    let released = false
    return () => {
      if (!released) this.live--
      released = true
    }
  }
}
