/** How long a proof takes on a device whose rates were measured. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { parseCircuitId } from '../circuit/circuit-id.ts'
import type { DeviceRates } from '../groth16/device-rates.ts'
import { paramsLayout, QUERIES, QUERY_GROUP } from '../params/layout.ts'
import { porepGeometry } from '../synthesis/porep/porep-geometry.ts'
import { snapGeometry } from '../synthesis/snap/snap-geometry.ts'
import type { CircuitSize } from './circuit-sizes.ts'

/** About how long a circuit takes on a device, in ms. */
export interface TimeEstimate {
  /** Of one proof; of a WindowPoSt each partition is a proof of its own for its deadline. */
  readonly partitions: number
  /** All partitions on one device, with the points in its memory. */
  readonly proofMs: number
  /**
   * Importing the points once: before the first proof where they stay on the device, with every partition where they
   * don't.
   */
  readonly importMs: number
}

/**
 * The time on the device; synthesis and verification of other proofs go on meanwhile.
 *
 *     partition = constraints · row + full scalars of the witness · scalar
 *               + 2^d · quotient · d / d₀                     a transform of 2^d elements has d levels; measured at d₀
 *               + Σ over h, l, a, b_g1, b_g2 of (sum of no points + points · ((1 − β) · sum + β · bit))
 *
 * β is the share of bits among the scalars: 0 for the coefficients h, else that of the aux variables. A sum over more
 * points than were measured costs a little less a point, since its windows are wider, and variables that the device
 * derives cost a little more than a row.
 */
export function estimateTime(circuitId: CircuitId, size: CircuitSize, rates: DeviceRates): TimeEstimate {
  const { constraints, log2Domain, bits, wide, aux } = size
  const { queries } = paramsLayout(size)
  const domain = 2 ** log2Domain * rates.quotientNs * (log2Domain / rates.log2Domain)
  let partitionNs = constraints * rates.rowNs + wide * rates.scalarNs + domain
  let importNs = 0
  for (const query of QUERIES) {
    const group = QUERY_GROUP[query]
    const bitShare = query === 'h' ? 0 : bits / aux
    const { points } = queries[query]
    partitionNs +=
      1e6 * rates.sumMs[group] + points * ((1 - bitShare) * rates.sumNs[group] + bitShare * rates.bitNs[group])
    importNs += points * rates.importNs[group]
  }
  const partitions = partitionsOf(circuitId)
  return { partitions, proofMs: (partitions * partitionNs) / 1e6, importMs: importNs / 1e6 }
}

function partitionsOf(circuitId: CircuitId): number {
  switch (parseCircuitId(circuitId).family) {
    case 'porep':
      return porepGeometry(circuitId).partitions
    case 'snap':
      return snapGeometry(circuitId).partitions
    default:
      return 1
  }
}
