/**
 * How fast a device is, in the terms that the time of a proof is made of: measured by the very calls that make one, on
 * a circuit that is there for nothing else and of any size. Its parameters are the same few points again and again, its
 * witness is random: what comes out is no proof, and how long it takes is the same.
 */
import { randomFillSync } from 'node:crypto'
import { recordCircuit } from '../circuit/circuit-shape.ts'
import type { ConstraintSystem } from '../circuit/constraint-system.ts'
import { LinearCombination } from '../circuit/linear-combination.ts'
import { type CircuitShape, type CompactWitness, ONE } from '../circuit/shape.ts'
import { encodeG1, encodeG2 } from '../curve/encoding.ts'
import { G1, G2 } from '../curve/points.ts'
import { FR_BYTES } from '../field/fr.ts'
import { G1_BYTES, G2_BYTES, paramsLayout, type Query } from '../params/layout.ts'
import type { Assignment, DevicePoints, DeviceShape, ProvingDevice, ReadPoints, Run } from './proving-device.ts'

/** Rates in nanoseconds, of work of the size that they were measured at. */
export interface DeviceRates {
  /** The evaluation domain of the circuit measured, as log2. */
  readonly log2Domain: number
  /** Assignment and rows, a row. */
  readonly rowNs: number
  /** What a full scalar of the witness takes on top of that, its way to the device included. */
  readonly scalarNs: number
  /** Six transforms and what is between them, an element of the domain. */
  readonly quotientNs: number
  /** A sum, whatever its size, in milliseconds: that of a few points. */
  readonly sumMs: PerGroup
  /** A point of a sum over full scalars, beyond that. */
  readonly sumNs: PerGroup
  /** A point of a sum over scalars that are 0 or 1, as often the one as the other, beyond that. */
  readonly bitNs: PerGroup
  /** Decoding and checking a point, memory to memory. */
  readonly importNs: PerGroup
  /**
   * By how much the slowest of repeated measurements took longer than the fastest, all of them together: 0.1 is a
   * tenth.
   */
  readonly scatter: number
}

/** A figure for each curve group. */
export interface PerGroup {
  readonly g1: number
  readonly g2: number
}

/** What is measured. */
export interface MeasureOptions {
  /**
   * The evaluation domain to measure, as log2; at most what the device serves. Larger ones until a sum takes long
   * enough if left out.
   */
  readonly log2Domain?: number | undefined
}

/** So few points that their sum is what every sum costs. */
const FEW_LOG2 = 10
const LEAST_LOG2 = 14
/** Points take 400 MB at this size. */
const MOST_LOG2 = 22
const LOG2_STEP = 2
/** A sum that takes so long is no longer ruled by what each call costs whatever its size. */
const LONG_ENOUGH_MS = 60
/** The least of so many measurements counts: what else a machine does only adds. */
const REPETITIONS = 3

/** Distinct points in a range: enough that equal ones rarely meet in a bucket. */
const DISTINCT_POINTS = 2 ** 10

/**
 * Measures a device, in a second or two on one that is made for it. On software adapters it takes minutes.
 * @throws `run.signal.reason` once the signal aborts
 */
export async function measureRates(
  device: ProvingDevice,
  { log2Domain }: MeasureOptions,
  run: Run,
): Promise<DeviceRates> {
  const read = { g1: distinctPoints('g1'), g2: distinctPoints('g2') }
  // Last, when the clocks of a card are up.
  const few = (most: number): Promise<Measured> =>
    measureAt(device, Math.min(FEW_LOG2, most), read, { ...run, unit: () => {} })
  if (log2Domain !== undefined) {
    const measured = await measureAt(device, log2Domain, read, run)
    return ratesOf(measured, await few(log2Domain))
  }
  const most = Math.min(MOST_LOG2, device.maxLog2Domain)
  const sizeOf = (size: number): Run => {
    // Twice the domain takes about twice as long.
    const unit = (share: number): void => run.unit(share * 2 ** (size - most))
    return { ...run, unit }
  }
  for (let size = Math.min(LEAST_LOG2, most); ; size = Math.min(size + LOG2_STEP, most)) {
    const measured = await measureAt(device, size, read, sizeOf(size))
    if (measured.g1.sumMs >= LONG_ENOUGH_MS || size === most) return ratesOf(measured, await few(most))
  }
}

/** Times in milliseconds, on a circuit of one size. */
interface Measured {
  readonly shape: CircuitShape
  readonly assignMs: number
  /** The same for a circuit of as many rows without full scalars. */
  readonly bitsAssignMs: number
  readonly quotientMs: number
  readonly g1: GroupTimes
  readonly g2: GroupTimes
  readonly scatter: number
}

/** The least and the most of repeated measurements, summed over what was measured. */
class Spread {
  #least = 0
  #most = 0

  /** @returns the least of some times */
  add(times: readonly number[]): number {
    const least = Math.min(...times)
    this.#least += least
    this.#most += Math.max(...times)
    return least
  }

  get scatter(): number {
    return this.#least > 0 ? this.#most / this.#least - 1 : 0
  }
}

function ratesOf({ shape, assignMs, bitsAssignMs, quotientMs, g1, g2, scatter }: Measured, few: Measured): DeviceRates {
  const ns = (ms: number, count: number): number => (Math.max(0, ms) * 1e6) / count
  const groups = { g1: [g1, few.g1], g2: [g2, few.g2] } as const
  const both = (rate: (times: GroupTimes, ofFew: GroupTimes) => number): PerGroup => ({
    g1: rate(...groups.g1),
    g2: rate(...groups.g2),
  })
  // A straight line through two sizes; where there is one only, or other work made the small one take longer than the
  // large one, all of it counts as growing.
  const slope = (times: GroupTimes, ofFew: GroupTimes, kind: 'sumMs' | 'bitMs'): number =>
    times.count > ofFew.count && times[kind] > ofFew[kind]
      ? ns(times[kind] - ofFew[kind], times.count - ofFew.count)
      : ns(times[kind], times.count)
  return {
    log2Domain: shape.log2Domain,
    rowNs: ns(bitsAssignMs, shape.constraints),
    scalarNs: ns(assignMs - bitsAssignMs, shape.root.totals.wide),
    quotientNs: ns(quotientMs, 2 ** shape.log2Domain),
    sumMs: both((times, ofFew) => Math.max(0, ofFew.sumMs - (ofFew.count * slope(times, ofFew, 'sumMs')) / 1e6)),
    sumNs: both((times, ofFew) => slope(times, ofFew, 'sumMs')),
    bitNs: both((times, ofFew) => slope(times, ofFew, 'bitMs')),
    importNs: both(({ importMs, count }) => ns(importMs, count)),
    scatter,
  }
}

async function measureAt(
  device: ProvingDevice,
  log2Domain: number,
  read: Readonly<Record<'g1' | 'g2', ReadPoints>>,
  run: Run,
): Promise<Measured> {
  const inner: Run = { signal: run.signal, unit: () => {} }
  const spread = new Spread()
  const steps = 4
  let done = 0
  const step = (): void => run.unit(++done / steps)
  const ofBits = await withShape(device, measuringCircuit(log2Domain, 'bit'), async (deviceShape) => {
    const witness = randomWitness(deviceShape.shape)
    const assign = (): Promise<Assignment> => device.assign(deviceShape, witness, inner)
    const assignMs = await least(spread, async () => {
      const from = performance.now()
      const assignment = await assign()
      const ms = performance.now() - from
      assignment.release()
      return ms
    })
    step()
    const assignment = await assign()
    try {
      const g1 = await sumTimes(device, 'g1', assignment, read.g1, spread, inner)
      return { assignMs, g1, g2: await sumTimes(device, 'g2', assignment, read.g2, spread, inner) }
    } finally {
      assignment.release()
    }
  })
  step()
  return await withShape(device, measuringCircuit(log2Domain, 'wide'), async (deviceShape) => {
    const { shape } = deviceShape
    const witness = randomWitness(shape)
    let assignment: Assignment | undefined
    try {
      const times = { assign: [] as number[], quotient: [] as number[] }
      for (let i = 0; i <= REPETITIONS; i++) {
        assignment?.release()
        assignment = undefined
        const from = performance.now()
        assignment = await device.assign(deviceShape, witness, inner)
        const assigned = performance.now()
        await device.quotient(assignment, inner)
        // The first compiles kernels and makes tables.
        if (i === 0) continue
        times.assign.push(assigned - from)
        times.quotient.push(performance.now() - assigned)
      }
      const [assignMs, quotientMs] = [spread.add(times.assign), spread.add(times.quotient)]
      step()
      const timesOf = async (group: 'g1' | 'g2'): Promise<GroupTimes> => {
        const { count, sumMs, importMs } = await sumTimes(
          device,
          group,
          assignment as Assignment,
          read[group],
          spread,
          inner,
        )
        return { count, sumMs, bitMs: ofBits[group].sumMs, importMs }
      }
      const g1 = await timesOf('g1')
      const g2 = await timesOf('g2')
      step()
      const { scatter } = spread
      return { shape, assignMs, bitsAssignMs: ofBits.assignMs, quotientMs, g1, g2, scatter }
    } finally {
      assignment?.release()
    }
  })
}

async function withShape<T>(
  device: ProvingDevice,
  shape: CircuitShape,
  work: (deviceShape: DeviceShape) => Promise<T>,
): Promise<T> {
  const deviceShape = await device.loadShape(shape)
  try {
    return await work(deviceShape)
  } finally {
    deviceShape.release()
  }
}

interface GroupTimes {
  /** Points. */
  readonly count: number
  readonly sumMs: number
  readonly bitMs: number
  readonly importMs: number
}

/** Sums of a whole query, range by range as a proof makes them: a device may keep terms of one back for the next. */
async function sumTimes(
  device: ProvingDevice,
  group: 'g1' | 'g2',
  assignment: Assignment,
  read: ReadPoints,
  spread: Spread,
  run: Run,
): Promise<Omit<GroupTimes, 'bitMs'>> {
  const query: Query = group === 'g1' ? 'b_g1' : 'b_g2'
  const count = paramsLayout(assignment.shape.shape).queries[query].points
  const parts = Math.ceil(count / device.rangePoints(group))
  const starts = Array.from({ length: parts + 1 }, (_, k) => Math.floor((count * k) / parts))
  const load = (length: number): Promise<DevicePoints> => device.loadPoints(group, length, read, run)
  // Ranges differ in length by one at most.
  const loaded = new Map<number, DevicePoints>()
  const most = Math.ceil(count / parts)
  try {
    const importMs = await least(spread, async () => {
      const from = performance.now()
      const points = await load(most)
      const ms = performance.now() - from
      points.release()
      return (ms * count) / most
    })
    for (let k = 0; k < parts; k++) {
      const length = (starts[k + 1] as number) - (starts[k] as number)
      if (!loaded.has(length)) loaded.set(length, await load(length))
    }
    const sumMs = await least(spread, async () => {
      const from = performance.now()
      for (let k = 0; k < parts; k++) {
        const first = starts[k] as number
        const points = loaded.get((starts[k + 1] as number) - first) as DevicePoints
        await device.multiexp(points, query, first, [assignment], run)
      }
      return performance.now() - from
    })
    return { count, sumMs, importMs }
  } finally {
    for (const points of loaded.values()) points.release()
  }
}

/** The least of a few measurements, after one that compiles kernels and makes tables. */
async function least(spread: Spread, measure: () => Promise<number>): Promise<number> {
  await measure()
  const times: number[] = []
  for (let i = 0; i < REPETITIONS; i++) times.push(await measure())
  return spread.add(times)
}

/** Multiples 1, 2, 3, … of the generator in turn. */
export function distinctPoints(group: 'g1' | 'g2'): ReadPoints {
  const encoded: Uint8Array[] = []
  if (group === 'g1') {
    for (let point = G1.BASE, i = 0; i < DISTINCT_POINTS; i++, point = point.add(G1.BASE)) encoded.push(encodeG1(point))
  } else {
    for (let point = G2.BASE, i = 0; i < DISTINCT_POINTS; i++, point = point.add(G2.BASE)) encoded.push(encodeG2(point))
  }
  const bytes = group === 'g1' ? G1_BYTES : G2_BYTES
  const period = DISTINCT_POINTS * bytes
  // Twice, so that a period may begin with any point. A target may be a device's memory, which is slow to read: it is
  // only written to.
  const twice = Buffer.concat([...encoded, ...encoded])
  return async (first, target) => {
    const from = (first % DISTINCT_POINTS) * bytes
    for (let at = 0; at < target.length; at += period) {
      target.set(twice.subarray(from, from + Math.min(period, target.length - at)), at)
    }
  }
}

/** Variables of each block; blocks are nested in pairs. */
const BLOCK = 64

/**
 * Rows (1 − b)·b = 0 for bits b, or x·x = 1 for full scalars x, as many as leave room in the domain for the row of ONE.
 * All of them occur in A and in B.
 */
export function measuringCircuit(log2Domain: number, kind: 'bit' | 'wide'): CircuitShape {
  const of = LinearCombination.of
  const row: Record<'bit' | 'wide', (cs: ConstraintSystem) => void> = {
    bit: (cs) => {
      const bit = cs.allocate('bit')
      cs.enforce(of(ONE).subtract(bit), of(bit), new LinearCombination())
    },
    wide: (cs) => {
      const x = cs.allocate('wide')
      cs.enforce(of(x), of(x), of(ONE))
    },
  }
  /** `blocks` blocks, by halves: what is recorded once counts twice. */
  const fill = (cs: ConstraintSystem, blocks: number): void => {
    cs.template(`${kind} ${blocks}`, {}, (child) => {
      if (blocks === 1) {
        for (let i = 0; i < BLOCK; i++) row[kind](child)
      } else {
        fill(child, Math.floor(blocks / 2))
        fill(child, blocks - Math.floor(blocks / 2))
      }
      return {}
    })
  }
  return recordCircuit('winning-2k', (cs) => fill(cs, 2 ** log2Domain / BLOCK - 1))
}

/** Half of the bits set; scalars uniform below 2^254, which is below r. */
export function randomWitness(shape: CircuitShape): CompactWitness {
  const { bits, wide } = shape.root.totals
  const scalars = (count: number): Uint8Array => {
    const bytes = new Uint8Array(count * FR_BYTES)
    for (let at = 0; at < bytes.length; at += RANDOM_AT_ONCE)
      randomFillSync(bytes, at, Math.min(RANDOM_AT_ONCE, bytes.length - at))
    for (let top = FR_BYTES - 1; top < bytes.length; top += FR_BYTES) bytes[top] = (bytes[top] as number) & 0x3f
    return bytes
  }
  const inputs = scalars(shape.inputs)
  inputs.fill(0, 0, FR_BYTES)[0] = 1
  const bitBytes = new Uint8Array(Math.ceil(bits / 64) * 8)
  randomFillSync(bitBytes, 0, Math.floor(bits / 8))
  return { inputs, bits: bitBytes, wide: scalars(wide) }
}

/** Node fills 2 GiB at once at most. */
const RANDOM_AT_ONCE = 2 ** 30
