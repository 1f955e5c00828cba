/** Which nodes a PoRep opens (`challenges.rs` in storage-proofs-porep). Node 0 never is. */
import { createCipheriv, hash } from 'node:crypto'
import { blake2b } from '@noble/hashes/blake2.js'
import type { PorepChallengeRule } from './porep-partition.ts'

const NON_INTERACTIVE_TAG = 'filecoin.io|PoRep|1|NonInteractive|1'
const SYNTHETIC_POOL_TAG = 'filecoin.io|PoRep|1|Synthetic|1|Generation'
const SYNTHETIC_SELECTION_TAG = 'filecoin.io|PoRep|1|Synthetic|1|Selection'
const SYNTHETIC_NONCE = 'synth-porep\0'
const SYNTHETIC_POOL = 2 ** 18

/** What challenges follow from. 32 bytes each. */
export interface ChallengeSource {
  readonly replicaId: Uint8Array
  /** The chain's randomness of the commit; a non-interactive proof needs none. */
  readonly seed: Uint8Array
  /** Used by synthetic and non-interactive proofs. */
  readonly commR: Uint8Array
}

/**
 * Challenges number `first` to `first + count` − 1 of a proof, counted through all partitions.
 * @param nodes of the sector, a power of two
 * @returns nodes from 1 to `nodes` − 1
 */
export function porepChallenges(
  rule: PorepChallengeRule,
  source: ChallengeSource,
  nodes: number,
  first: number,
  count: number,
): number[] {
  const { replicaId, seed, commR } = source
  const numbers = Array.from({ length: count }, (_, i) => first + i)
  switch (rule) {
    case 'interactive':
      return numbers.map((j) => toNode(sha256(replicaId, seed, u32(j)), nodes))
    case 'non-interactive':
      return numbers.map((j) => toNode(sha256(Buffer.from(NON_INTERACTIVE_TAG), replicaId, commR, u32(j)), nodes))
    case 'synthetic':
      return syntheticChallenges(source, nodes, Math.min(nodes, SYNTHETIC_POOL), numbers)
  }
}

/**
 * A synthetic proof opens some of a pool of nodes that was fixed when the sector was sealed.
 * @param pool number of nodes in the pool
 * @param numbers of the challenges
 */
export function syntheticChallenges(
  { replicaId, seed, commR }: ChallengeSource,
  nodes: number,
  pool: number,
  numbers: readonly number[],
): number[] {
  const poolKey = keyedHash(SYNTHETIC_POOL_TAG, replicaId, commR)
  const selectionKey = keyedHash(SYNTHETIC_SELECTION_TAG, replicaId, seed)
  return numbers.map((j) => {
    const index = keystream(selectionKey, 4 * j, 4).readUInt32LE() % pool
    return toNode(keystream(poolKey, 32 * index, 32), nodes)
  })
}

/** The whole pool, in order. */
export function syntheticPool({ replicaId, commR }: ChallengeSource, nodes: number, pool: number): number[] {
  const key = keyedHash(SYNTHETIC_POOL_TAG, replicaId, commR)
  return Array.from({ length: pool }, (_, index) => toNode(keystream(key, 32 * index, 32), nodes))
}

/** A little-endian number, reduced to a node that isn't the first. */
function toNode(bytes: Uint8Array, nodes: number): number {
  const value = BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`)
  return Number(value % BigInt(nodes - 1)) + 1
}

function sha256(...parts: readonly Uint8Array[]): Buffer {
  return hash('sha256', Buffer.concat(parts), 'buffer')
}

function keyedHash(key: string, ...parts: readonly Uint8Array[]): Uint8Array {
  return blake2b(Buffer.concat(parts), { key: Buffer.from(key), dkLen: 32 })
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

const BLOCK_BYTES = 64

/** Bytes of ChaCha20's keystream that lie within one block of 64. */
function keystream(key: Uint8Array, from: number, length: number): Buffer {
  const start = from % BLOCK_BYTES
  // OpenSSL takes the block counter and the nonce together.
  const counterAndNonce = Buffer.concat([u32((from - start) / BLOCK_BYTES), Buffer.from(SYNTHETIC_NONCE)])
  const zeros = Buffer.alloc(start + length)
  return createCipheriv('chacha20', key, counterAndNonce).update(zeros).subarray(start)
}
