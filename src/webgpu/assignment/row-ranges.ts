/** Which instances of a template have rows in which shard of the rows a and b. */
import type { ShardLayout } from '../elements.ts'
import type { TemplateInstances } from './instances.ts'

/** Consecutive instances that may have rows in a shard; others have none there. */
export interface RowRange {
  readonly shard: number
  /** The shard's first row, and how many it has. */
  readonly firstRow: number
  readonly rows: number
  readonly first: number
  readonly count: number
}

/** @param domain rows in all shards */
export function rowRanges(instances: TemplateInstances, { shards, log2 }: ShardLayout, domain: number): RowRange[] {
  const { own, records, recordWords, batches } = instances
  const { rowOffsets } = own
  if (rowOffsets.length === 0) return []
  if (shards === 1) return [{ shard: 0, firstRow: 0, rows: domain, first: 0, count: instances.instances }]
  const [least, most] = [rowOffsets[0] as number, rowOffsets.at(-1) as number]
  const ranges: RowRange[] = []
  for (let shard = 0; shard < shards; shard++) {
    const firstRow = shard * 2 ** log2
    const rows = Math.min(2 ** log2, domain - firstRow)
    for (const batch of batches) {
      const end = batch.first + batch.count
      // The first instance whose last row is not before the shard, and the first whose first row is behind it.
      const from = lowerBound(batch.first, end, (i) => (records[i * recordWords] as number) + most >= firstRow)
      const to = lowerBound(from, end, (i) => (records[i * recordWords] as number) + least >= firstRow + rows)
      if (to > from) ranges.push({ shard, firstRow, rows, first: from, count: to - from })
    }
  }
  return ranges
}

/** The first number from `low` up to `high` that a condition holds for, which holds for all behind it. */
function lowerBound(low: number, high: number, holds: (i: number) => boolean): number {
  let [from, to] = [low, high]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (holds(middle)) to = middle
    else from = middle + 1
  }
  return from
}
