/** The randomness of SnapDeals (`challenges.rs` and `vanilla.rs` in storage-proofs-update). */
import { customTag } from '../../circuit/poseidon/constants.ts'
import { challengesPerDigest } from '../../circuit/snap/challenge-bits.ts'
import type { SnapParameters } from '../../circuit/snap/snap-parameters.ts'
import type { PoseidonHasher } from '../poseidon-hasher.ts'
import { readU32, writeU32 } from '../records.ts'

const SCALAR_BYTES = 32
const PAIR_BYTES = 2 * SCALAR_BYTES
const RANDOMNESS_TAG = customTag(1)

type ChallengeParameters = Pick<SnapParameters, 'nodeBits' | 'partitionBits' | 'challenges'>

/** The challenges of a partition with the digests that they are cut from. */
export interface SnapChallenges {
  /** Indices of the challenged nodes. */
  readonly nodes: Uint32Array
  /** 32 bytes little-endian each. */
  readonly digests: Uint8Array
}

/** Digests that the challenges of a partition are cut from. */
export function digestsPerPartition({ nodeBits, partitionBits, challenges }: ChallengeParameters): number {
  return Math.ceil(challenges / challengesPerDigest(nodeBits - partitionBits))
}

/**
 * The challenges of partition k. Each of its D digests H(comm_r_new, D · k + j) gives as many numbers of n − p bits as
 * fit into 254, from the lowest bits on, where n is the count of bits of a node's index and p that of the partition's;
 * k stands in the bits above.
 */
export function snapChallenges(
  parameters: ChallengeParameters,
  commRNew: Uint8Array,
  partition: number,
  hasher: PoseidonHasher,
): SnapChallenges {
  const bits = parameters.nodeBits - parameters.partitionBits
  const count = digestsPerPartition(parameters)
  const numbers = new Uint8Array(count * SCALAR_BYTES)
  for (let j = 0; j < count; j++) writeU32(numbers, j * SCALAR_BYTES, count * partition + j)
  const digests = randomnessOf(commRNew, numbers, hasher)
  const perDigest = challengesPerDigest(bits)
  const nodes = new Uint32Array(parameters.challenges)
  for (let c = 0; c < nodes.length; c++) {
    const digest = SCALAR_BYTES * Math.floor(c / perDigest)
    nodes[c] = bitsAt(digests, digest, (c % perDigest) * bits, bits) + partition * 2 ** bits
  }
  return { nodes, digests }
}

/** phi = H(comm_d_new, comm_r_old): what the randomness of all leaves of an update comes from. */
export function snapPhi(commDNew: Uint8Array, commROld: Uint8Array, hasher: PoseidonHasher): Uint8Array {
  return randomnessOf(commDNew, commROld, hasher)
}

/**
 * rho = H(phi, high) of some nodes, where high are the highest bits of a node's index.
 * @param highBits how many of them
 * @returns 32 bytes a node
 */
export function snapRhos(
  phi: Uint8Array,
  nodes: Uint32Array,
  nodeBits: number,
  highBits: number,
  hasher: PoseidonHasher,
): Uint8Array {
  const highs = new Uint8Array(nodes.length * SCALAR_BYTES)
  for (const [i, node] of nodes.entries()) {
    writeU32(highs, i * SCALAR_BYTES, Math.floor(node / 2 ** (nodeBits - highBits)))
  }
  return randomnessOf(phi, highs, hasher)
}

/** H(first, second) with a domain of its own for each of many second elements. */
function randomnessOf(first: Uint8Array, seconds: Uint8Array, hasher: PoseidonHasher): Uint8Array {
  const count = seconds.length / SCALAR_BYTES
  const pairs = new Uint8Array(count * PAIR_BYTES)
  for (let i = 0; i < count; i++) {
    pairs.set(first, i * PAIR_BYTES)
    pairs.set(seconds.subarray(i * SCALAR_BYTES, (i + 1) * SCALAR_BYTES), i * PAIR_BYTES + SCALAR_BYTES)
  }
  const digests = new Uint8Array(seconds.length)
  hasher.hash(2, pairs, digests, RANDOMNESS_TAG)
  return digests
}

/** A number of at most 31 bits out of the 256 at `offset`, from bit `from` on. */
function bitsAt(bytes: Uint8Array, offset: number, from: number, count: number): number {
  // The shift is below 8 except in the last word: five bytes hold the number, or the four up to the end.
  const at = offset + Math.min(from >>> 3, SCALAR_BYTES - 4)
  const shift = from - 8 * (at - offset)
  const low = readU32(bytes, at) >>> shift
  const high = shift === 0 || at + 4 >= offset + SCALAR_BYTES ? 0 : (bytes[at + 4] as number) << (32 - shift)
  return (low | high) & (2 ** count - 1)
}
