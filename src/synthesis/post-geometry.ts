/**
 * Sizes of the PoSt circuits and of the Merkle trees they open (`filecoin-proofs`' constants; all published sector
 * sizes).
 *
 * TreeR is a tree of trees: base trees of arity 8; where a size has a sub arity, that many base trees hang under one
 * node, and where it has a top arity, that many of those. A path has one element a base level, then one for sub and one
 * for top.
 */
import { type CircuitId, parseCircuitId } from '../circuit/circuit-id.ts'
import { postParameters } from '../circuit/post/post-circuit.ts'
import { sectorNodes, upperLevels } from '../circuit/sector-tree.ts'

/** Arity of every level of a TreeR path, from the leaf upward. */
export type PathArity = 2 | 8

/** Sizes of a PoSt circuit: its sectors, their trees, their challenges. */
export interface PostGeometry {
  readonly circuitId: CircuitId
  /** Leaves of a sector's tree, a power of two: 2^nodeBits. */
  readonly nodes: number
  readonly nodeBits: number
  /** How many of the levels, the last ones, are above the base tree. */
  readonly upperLevels: 0 | 1 | 2
  /** From the leaf upward: base levels, sub, top. */
  readonly arities: readonly PathArity[]
  /** Sectors of the circuit. A WinningPoSt opens one real sector as 66 pseudo-sectors with one challenge each. */
  readonly circuitSectors: number
  /** Challenges in each sector of the circuit. */
  readonly circuitChallenges: number
  /** Real sectors that fit into one partition. */
  readonly sectorsPerPartition: number
  /** Inclusion proofs in one vanilla proof. */
  readonly proofChallenges: number
}

/** Geometry of a PoSt circuit. */
export function postGeometry(circuitId: CircuitId): PostGeometry {
  const { family, size } = parseCircuitId(circuitId)
  if (family !== 'wpost' && family !== 'winning') throw new Error(`${circuitId} is not a PoSt circuit`)
  const { sectors, challenges, arities } = postParameters(family, size)
  const nodes = sectorNodes(size)
  const winning = family === 'winning'
  return {
    circuitId,
    nodes,
    nodeBits: Math.log2(nodes),
    upperLevels: upperLevels(size),
    arities: arities as readonly PathArity[],
    circuitSectors: sectors,
    circuitChallenges: challenges,
    sectorsPerPartition: winning ? 1 : sectors,
    proofChallenges: winning ? sectors : challenges,
  }
}
