/**
 * Sums of groups of points (the buckets of a window, or the table entries of a multiple), level by level: in each level
 * the points of a group are paired, so that a level is one long list of independent additions.
 */
import type { PairAdder, Reference } from './pair-adder.ts'

/** Memory for intermediate sums: `capacity` points of `pointBytes` from `address`. */
export interface Slots {
  readonly address: number
  readonly capacity: number
  readonly pointBytes: number
}

/**
 * Sums each group of `references`: group g has the references from `starts[g]` up to `starts[g + 1]`, none of them
 * infinity. `references` is used up.
 *
 * @param result gives the address where the sum of a group of two or more may be written
 * @param sums receives a reference to each group's sum: 0 for infinity, the reference itself where a group has one
 * point
 */
export function sumGroups(
  adder: PairAdder,
  references: Uint32Array,
  starts: Uint32Array,
  groups: number,
  slots: Slots,
  result: (group: number) => number,
  sums: Uint32Array,
): void {
  const lengths = new Uint32Array(groups)
  for (let g = 0; g < groups; g++) lengths[g] = (starts[g + 1] as number) - (starts[g] as number)
  const firstSlots = new Uint32Array(groups)
  let first = 0
  while (first < groups) {
    // As many groups as the slots hold: a group of n needs n / 2.
    let used = 0
    let end = first
    while (end < groups) {
      if ((lengths[end] as number) > 2 * (slots.capacity - RESERVED)) {
        // Alone in its pass: its partial sums take the reserved slots.
        if (end > first) break
        lengths[end] = reduceLarge(adder, references, starts[end] as number, lengths[end] as number, slots)
        end++
        break
      }
      const needed = (lengths[end] as number) >> 1
      if (used + needed > slots.capacity - RESERVED) break
      firstSlots[end] = used
      used += needed
      end++
    }
    sumInSlots(adder, references, starts, lengths, firstSlots, first, end, slots, result)
    for (let g = first; g < end; g++) sums[g] = lengths[g] === 0 ? 0 : (references[starts[g] as number] as number)
    first = end
  }
}

/** Slots at the end for the partial sums of a group that does not fit: 2^30 points at 2^16 slots would need 2^14. */
const RESERVED = 256

/**
 * Reduces a group that is too large for the slots to at most {@link RESERVED} partial sums. @returns the group's new
 * length
 */
function reduceLarge(adder: PairAdder, references: Uint32Array, start: number, length: number, slots: Slots): number {
  const pieceLength = 2 * (slots.capacity - RESERVED)
  const pieces = Math.ceil(length / pieceLength)
  if (pieces > RESERVED) throw new Error(`A group of ${length} points is too large for ${slots.capacity} slots`)
  const reserved = slots.address + (slots.capacity - RESERVED) * slots.pointBytes
  let kept = 0
  for (let piece = 0; piece < pieces; piece++) {
    const from = start + piece * pieceLength
    const lengths = Uint32Array.of(Math.min(pieceLength, start + length - from))
    sumInSlots(adder, references, Uint32Array.of(from), lengths, new Uint32Array(1), 0, 1, slots, () => {
      return reserved + piece * slots.pointBytes
    })
    if (lengths[0] !== 0) references[start + kept++] = references[from] as number
  }
  return kept
}

/**
 * Sums groups whose intermediate sums fit the slots. Each group's sum is then its first reference, and its length 0 or
 * 1.
 */
function sumInSlots(
  adder: PairAdder,
  references: Uint32Array,
  starts: Uint32Array,
  lengths: Uint32Array,
  firstSlots: Uint32Array,
  first: number,
  end: number,
  slots: Slots,
  result: (group: number) => number,
): void {
  const { pointBytes } = slots
  let active = true
  while (active) {
    active = false
    for (let g = first; g < end; g++) {
      const length = lengths[g] as number
      if (length < 2) continue
      const start = starts[g] as number
      const pairs = length >> 1
      // Sum t goes to slot t of the group's own: its operands lie at 2t and 2t + 1, so none that is needed later is
      // overwritten.
      let out = length === 2 ? result(g) : slots.address + (firstSlots[g] as number) * pointBytes
      for (let t = 0; t < pairs; t++) {
        adder.add(references[start + 2 * t] as Reference, references[start + 2 * t + 1] as Reference, out)
        references[start + t] = out
        out += pointBytes
      }
      if (length & 1) references[start + pairs] = references[start + length - 1] as number
      lengths[g] = length - pairs
      active ||= length - pairs > 1
    }
    adder.flush()
    if (adder.hasInfinities) dropInfinities(references, starts, lengths, first, end, adder.takeInfinities())
  }
}

function dropInfinities(
  references: Uint32Array,
  starts: Uint32Array,
  lengths: Uint32Array,
  first: number,
  end: number,
  infinities: ReadonlySet<number>,
): void {
  for (let g = first; g < end; g++) {
    const start = starts[g] as number
    let kept = start
    for (let i = start; i < start + (lengths[g] as number); i++) {
      const reference = references[i] as number
      if (!infinities.has(reference)) references[kept++] = reference
    }
    lengths[g] = kept - start
  }
}
