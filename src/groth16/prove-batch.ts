/**
 * A Groth16 prover for several partitions of one circuit, written once against {@link ProvingDevice}.
 *
 * Each partition is assigned and its quotient computed; then one pass over the SRS adds every range of points up for
 * all partitions, so that a batch of n reads and imports the parameters once instead of n times. Batches that run side
 * by side share that pass (`shared-pass.ts`). What is made on the device is released on every path.
 */
import type { CircuitShape, CompactWitness } from '../circuit/shape.ts'
import { decodeSumG1, decodeSumG2, encodeG1, encodeG2 } from '../curve/encoding.ts'
import { type PointRange, QUERIES, QUERY_GROUP, type Query } from '../params/layout.ts'
import { assembleProof, type BlindedElements, blindElements, type ProvingElements, type QuerySums } from './assemble.ts'
import { type Blinding, randomBlinding } from './blinding.ts'
import type { Assignment, DeviceShape, ProvingDevice, Run } from './proving-device.ts'
import type { PointSource } from './shared-pass.ts'

/** What is proved, where, and with which parameters. */
export interface ProveBatchInput {
  readonly device: ProvingDevice
  readonly shape: DeviceShape
  /** One a partition. */
  readonly witnesses: readonly CompactWitness[]
  /** The SRS on this device, or a place in a pass that is shared with other batches. */
  readonly points: PointSource
  readonly key: ProvingElements
}

/** Share of the sums of all queries after which the device is busy for a while whatever this thread does. */
const BLIND_FROM = 0.3

/**
 * Proves all partitions of a batch.
 *
 * @param blindings a test seam: one pair a partition. Left out, as it must be for real proofs, they come from the
 *   operating system
 * @returns 192 bytes a partition, not verified yet
 * @throws `run.signal.reason` once the signal aborts
 */
export async function proveBatch(
  { device, shape, witnesses, points, key }: ProveBatchInput,
  run: Run,
  blindings: readonly Blinding[] = witnesses.map(randomBlinding),
): Promise<Uint8Array[]> {
  run.signal.throwIfAborted()
  const progress = new WeightedProgress(run, batchCost(shape.shape, witnesses.length, points.ranges))
  const cost = partitionCost(shape.shape)
  const assignments: Assignment[] = []
  try {
    for (const [j, witness] of witnesses.entries()) {
      const assignment = await device.assign(shape, witness, progress.step(cost.assign))
      assignments.push(assignment)
      if (j === witnesses.length - 1) run.passed?.('taken')
      await device.quotient(assignment, progress.step(cost.quotient))
    }
    run.passed?.('divided')
    const blind = onceFor(blindings, (blinding) => blindElements(key, blinding, device.shortSum))
    const together = points.together?.((all) => {
      const { unit, ...rest } = progress.rest()
      // The device has work by then, and this thread has none.
      const reported = (share: number): void => {
        unit(share)
        if (share > BLIND_FROM) blind()
      }
      return device.sumQueries?.(all, assignments, { ...rest, unit: reported })
    })
    const sums = await (together ?? sumRangeByRange({ device, shape, points }, assignments, progress))
    run.signal.throwIfAborted()
    const elements = blind()
    return sums.map((sum, j) => assembleProof(elements[j] as BlindedElements, sum, device.shortSum))
  } finally {
    for (const assignment of assignments) assignment.release()
  }
}

/** What becomes of each of several, made when it is first asked for. */
function onceFor<T, R>(all: readonly T[], make: (one: T) => R): () => readonly R[] {
  let made: readonly R[] | undefined
  return () => {
    made ??= all.map(make)
    return made
  }
}

/** One pass over the SRS, for all assignments. */
async function sumRangeByRange(
  { device, shape, points }: Pick<ProveBatchInput, 'device' | 'shape' | 'points'>,
  assignments: readonly Assignment[],
  progress: WeightedProgress,
): Promise<QuerySums[]> {
  const sums = assignments.map(() => new RunningSums())
  await points.pass(
    (range) => progress.step(range.count * IMPORT_COST[QUERY_GROUP[range.query]]),
    async ({ query, first, count }, devicePoints) => {
      const step = progress.step(count * assignments.length * pointCost(shape.shape, query))
      const parts = await device.multiexp(devicePoints, query, first, assignments, step)
      for (const [j, part] of parts.entries()) sums[j]?.add(query, part)
    },
  )
  return sums.map((sum) => sum.encoded())
}

/** Adds up what the ranges of each query give. */
class RunningSums {
  readonly #parts: Record<Query, Uint8Array[]> = { h: [], l: [], a: [], b_g1: [], b_g2: [] }

  add(query: Query, part: Uint8Array): void {
    this.#parts[query].push(part)
  }

  encoded(): QuerySums {
    const total = (query: Query): Uint8Array => {
      const [first, ...rest] = this.#parts[query]
      if (first === undefined) throw new Error(`no sum over ${query}`)
      return QUERY_GROUP[query] === 'g1'
        ? encodeG1(rest.reduce((sum, part) => sum.add(decodeSumG1(part)), decodeSumG1(first)))
        : encodeG2(rest.reduce((sum, part) => sum.add(decodeSumG2(part)), decodeSumG2(first)))
    }
    return Object.fromEntries(QUERIES.map((query) => [query, total(query)])) as unknown as QuerySums
  }
}

/*
 * What each part costs, in microseconds of one core, for progress that moves evenly. CPU time of the WebAssembly device
 * on Node 24 for a 32 GiB WinningPoSt (370,590 rows, a domain of 2^19): assign 104 ms, quotient 908 ms, the sum over
 * 524,287 points of h 3.7 s, the one over 272,185 points of b_g2 4.9 s, importing 1.46 million G1 points 0.57 s.
 * Progress then leaves the share of CPU time by 0.02 at most.
 */
const ROW_COST = 0.3
const QUOTIENT_COST = 1.7
const POINT_COST = { g1: 7.1, g2: 18 } as const
const IMPORT_COST = { g1: 0.4, g2: 0.8 } as const
/** A scalar that is 0 or 1 costs nothing or one addition, where a full one costs about 17. */
const BIT_SHARE = 0.04

function partitionCost(shape: CircuitShape): { readonly assign: number; readonly quotient: number } {
  return { assign: shape.constraints * ROW_COST, quotient: 2 ** shape.log2Domain * QUOTIENT_COST }
}

function pointCost(shape: CircuitShape, query: Query): number {
  const { bits, aux } = shape.root.totals
  const share = query === 'h' ? 1 : 1 - (1 - BIT_SHARE) * (aux === 0 ? 0 : bits / aux)
  return share * POINT_COST[QUERY_GROUP[query]]
}

function batchCost(shape: CircuitShape, partitions: number, ranges: readonly PointRange[]): number {
  const { assign, quotient } = partitionCost(shape)
  return ranges.reduce(
    (sum, { query, count }) => sum + count * (IMPORT_COST[QUERY_GROUP[query]] + partitions * pointCost(shape, query)),
    partitions * (assign + quotient),
  )
}

/** Turns the shares of single steps into the share of the whole, which never falls. */
class WeightedProgress {
  readonly #run: Run
  readonly #total: number
  #done = 0
  #reported = 0

  constructor(run: Run, total: number) {
    this.#run = run
    this.#total = total
  }

  /** What all that is left reports to, if it is one step. */
  rest(): Run {
    return this.step(this.#total - this.#done)
  }

  /**
   * What the next step of this cost reports to. Steps follow each other; one that reports nothing counts when the next
   * begins.
   */
  step(cost: number): Run {
    const before = this.#done
    this.#done += cost
    return {
      ...this.#run,
      unit: (share) => {
        this.#reported = Math.max(this.#reported, Math.min(1, (before + cost * share) / this.#total))
        this.#run.unit(this.#reported)
      },
    }
  }
}
