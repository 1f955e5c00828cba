/** Which of a circuit's points stay on a device: those that its plan has room for, as far as others have left some. */
import type { MemoryPlan } from '../groth16/proving-device.ts'
import { QUERIES, type Query } from '../params/layout.ts'

/** What a circuit holds of a device's memory. */
export interface KeptPoints {
  readonly keep: ReadonlySet<Query>
  /** Shape and kept points, and what must be there for those that are not kept. */
  readonly bytes: number
}

/**
 * @param wanted whether any are to be kept
 * @param freeBytes what there is for all that the circuit holds
 */
export function keptPoints(plan: MemoryPlan, wanted: boolean, freeBytes: number): KeptPoints {
  const within = (roomBytes: number, besideBytes: number): KeptPoints => {
    const keep = new Set<Query>()
    let bytes = plan.shapeBytes + besideBytes
    for (const query of wanted ? QUERIES : []) {
      const kept = plan.kept[query]
      if (kept === undefined || bytes + kept > roomBytes) continue
      keep.add(query)
      bytes += kept
    }
    return { keep, bytes }
  }
  const all = within(freeBytes, 0)
  if (all.keep.size === QUERIES.length) return all
  // A set-up stays where points are made again in every pass.
  return within(freeBytes, plan.passingBytes + (plan.setup?.heldBytes ?? 0))
}
