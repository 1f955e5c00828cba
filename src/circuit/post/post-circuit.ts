/**
 * WindowPoSt and WinningPoSt: FallbackPoStCircuit of storage-proofs-post. Prover, sector numbers and randomness are not
 * in the circuit; they only determine which leaves the public inputs ask for.
 */
import type { SectorSizeTag } from '../circuit-id.ts'
import type { ConstraintSystem } from '../constraint-system.ts'
import { merklePath, POSEIDON_TREE } from '../gadgets/merkle-path.ts'
import { allocateNum, enforceEqual, inputize } from '../gadgets/num.ts'
import { poseidon } from '../gadgets/poseidon.ts'
import { treeArities } from '../sector-tree.ts'
import type { Variable } from '../shape.ts'

export interface PostParameters {
  /** Sectors a partition; of a WinningPoSt, the pseudo-sectors that its one sector is unrolled into. */
  readonly sectors: number
  /** Challenged leaves of each sector. */
  readonly challenges: number
  /** Arity of each level of a sector's tree, from the leaf upwards. */
  readonly arities: readonly number[]
}

const WINDOW_SECTORS: Readonly<Record<SectorSizeTag, number>> = {
  '2k': 2,
  '8m': 2,
  '512m': 2,
  '32g': 2349,
  '64g': 2300,
}
const WINDOW_CHALLENGES = 10
/** WinningPoSt's 66 challenges to one sector are circuits of 66 sectors with one challenge each. */
const WINNING_CHALLENGES = 66

/** How many sectors and challenges a circuit has, and the arities of its trees. */
export function postParameters(family: 'wpost' | 'winning', size: SectorSizeTag): PostParameters {
  const arities = treeArities(size)
  return family === 'wpost'
    ? { sectors: WINDOW_SECTORS[size], challenges: WINDOW_CHALLENGES, arities }
    : { sectors: WINNING_CHALLENGES, challenges: 1, arities }
}

/**
 * For each sector: comm_r_last, comm_c and comm_r in this order, comm_r as a public input, comm_r = H(comm_c,
 * comm_r_last); then for each challenge a leaf and its path to comm_r_last, with the leaf's index as a public input.
 *
 * To be called once a circuit: the names of its templates don't tell the parameters.
 */
export function synthesizePost(cs: ConstraintSystem, { sectors, challenges, arities }: PostParameters): void {
  for (let sector = 0; sector < sectors; sector++) {
    cs.template('post-sector', {}, (body) => {
      synthesizeSector(body, challenges, arities)
      return {}
    })
  }
}

function synthesizeSector(cs: ConstraintSystem, challenges: number, arities: readonly number[]): void {
  const commRLast = allocateNum(cs)
  const commC = allocateNum(cs)
  const commR = allocateNum(cs)
  inputize(cs, commR)
  enforceEqual(cs, commR, poseidon(cs, [commC, commRLast]))
  for (let challenge = 0; challenge < challenges; challenge++) {
    cs.template('post-challenge', { nums: [commRLast] }, (body, { nums }) => {
      enforceEqual(body, merklePath(body, POSEIDON_TREE, allocateNum(body), arities), nums[0] as Variable)
      return {}
    })
  }
}
