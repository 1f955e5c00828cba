/**
 * Parents, labels, challenges and identities of seals: values that the tests of rust-fil-proofs assert, and a whole
 * sector's.
 */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { frFromBytes, frToBytes } from '../../src/field/fr.ts'
import { porepChallenges, syntheticChallenges, syntheticPool } from '../../src/synthesis/porep/porep-challenges.ts'
import { StackedGraph } from '../../src/synthesis/porep/porep-graph.ts'
import type { SealRules } from '../../src/synthesis/porep/porep-partition.ts'
import { porepPublicInputs } from '../../src/synthesis/porep/public-inputs.ts'
import { challengedNodes, replicaIdOf } from '../../src/synthesis/porep/read-seal.ts'
import { fromHex } from '../support/vectors.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const filled = (value: number): Uint8Array => new Uint8Array(32).fill(value)
const numbered = (value: number): Uint8Array => frToBytes(BigInt(value))

function parentsOf(graph: StackedGraph, node: number): Uint32Array {
  const out = new Uint32Array(14)
  graph.parents(node, out)
  return out
}

describe('the graph of a 2 KiB sector', () => {
  it.each([
    ['legacy', 0, '3da49221e2ed55371b86d0bf3d6526fcf128af61bed904f966428db1b531750d'],
    ['V1_1', 5, '840057702eea7652cf97e04306c30fe57174714d90de156a25eddd6075c25b97'],
  ])('has the digest of the parent cache: %s', (_, porepId, digest) => {
    const graph = new StackedGraph(64, numbered(porepId), porepId === 0)
    const hash = createHash('sha256')
    for (let node = 0; node < 64; node++) hash.update(new Uint8Array(parentsOf(graph, node).buffer))
    expect(hash.digest('hex')).toBe(digest)
  })

  it('gives the last node its parents', () => {
    expect([...parentsOf(new StackedGraph(64, numbered(0), true), 63)]).toEqual([
      62, 61, 56, 62, 37, 62, 49, 37, 35, 41, 52, 50, 54, 5,
    ])
    expect([...parentsOf(new StackedGraph(64, numbered(5), false), 63)]).toEqual([
      62, 15, 42, 62, 61, 62, 0, 15, 30, 30, 28, 42, 49, 38,
    ])
  })
})

/** Labels of all nodes of a sector in its last layer, by the definition. */
function lastLayer(nodes: number, layers: number, replicaId: Uint8Array, porepId: Uint8Array, legacy: boolean) {
  const graph = new StackedGraph(nodes, porepId, legacy)
  const parents = Array.from({ length: nodes }, (_, node) => [...parentsOf(graph, node)])
  let below: Uint8Array[] = []
  for (let layer = 1; layer <= layers; layer++) {
    const labels: Uint8Array[] = []
    for (let node = 0; node < nodes; node++) {
      const header = Buffer.alloc(64)
      header.set(replicaId)
      header.writeUInt32BE(layer, 32)
      header.writeBigUInt64BE(BigInt(node), 36)
      const hash = createHash('sha256').update(header)
      const own = parents[node] as number[]
      const used = layer === 1 ? own.slice(0, 6) : own
      for (let i = 0; node > 0 && i < 37; i++) {
        const k = i % used.length
        hash.update((k < 6 ? labels : below)[used[k] as number] as Uint8Array)
      }
      const label = new Uint8Array(hash.digest())
      label[31] = (label[31] as number) & 0x3f
      labels.push(label)
    }
    below = labels
  }
  return below
}

describe('labels', () => {
  it.each([
    [64, 9, 0, true, '04ba0f9a6ba9fad35e4806d183a281eab3c25afa9a1bd5e3378da6f1f4f46204'],
    [128, 9, 0, true, '86daa8c4521e197e48c1fae6c9a1e85ab894a8883b9f23cebe531ddcd1004c23'],
    [64, 9, 0x7b, false, 'cfef0db78bf3b3ab9f1169774d2e7a77bc9054499d954834b51ca7c788110206'],
    [128, 9, 0x7b, false, '6d67c468cf81ab2289c1c9c72fa8777a232de4c1323dc0c6bd552ccc187c770f'],
  ])(
    'of %i nodes in 11 layers end as asserted (replica id %i, porep id %i, legacy %s)',
    (nodes, replica, id, legacy, last) => {
      expect(hex(lastLayer(nodes, 11, filled(replica), filled(id), legacy).at(-1) as Uint8Array)).toBe(last)
    },
  )
})

describe('synthetic challenges', () => {
  const source = { replicaId: numbered(55), commR: numbered(101), seed: filled(1) }
  // biome-ignore format: a table
  const pool = [178, 297, 869, 211, 875, 477, 94, 781, 124, 332, 856, 801, 176, 692, 429, 691, 290, 204, 986, 210, 973]

  it('come from the asserted pool', () => {
    expect(syntheticPool(source, 1024, 21)).toEqual(pool)
  })

  it('are those selected', () => {
    const expected = [176, 781, 801, 986, 290, 211, 692, 856, 986, 332]
    expect(syntheticChallenges(source, 1024, 21, [...expected.keys()])).toEqual(expected)
  })

  it('of a sector are from its pool, however they are divided into partitions', () => {
    const all = porepChallenges('synthetic', source, 64, 0, 20)
    expect([
      ...porepChallenges('synthetic', source, 64, 0, 7),
      ...porepChallenges('synthetic', source, 64, 7, 13),
    ]).toEqual(all)
    const whole = new Set(syntheticPool(source, 64, 64))
    expect(all.every((node) => whole.has(node))).toBe(true)
  })
})

describe('non-interactive challenges', () => {
  it('follow from replica id and comm_r by the definition, without a seed', () => {
    const source = { replicaId: numbered(55), commR: numbered(101), seed: filled(1) }
    const expected = Array.from({ length: 30 }, (_, j) => {
      const number = Buffer.alloc(4)
      number.writeUInt32LE(100 + j)
      const digest = createHash('sha256')
        .update('filecoin.io|PoRep|1|NonInteractive|1')
        .update(source.replicaId)
        .update(source.commR)
        .update(number)
        .digest()
      return Number(BigInt(`0x${digest.reverse().toString('hex')}`) % (2n ** 30n - 1n)) + 1
    })
    expect(porepChallenges('non-interactive', source, 2 ** 30, 100, 30)).toEqual(expected)
    expect(porepChallenges('non-interactive', { ...source, seed: filled(2) }, 2 ** 30, 100, 30)).toEqual(expected)
    expect(porepChallenges('interactive', source, 2 ** 30, 100, 30)).not.toEqual(expected)
  })
})

describe('public inputs of a non-interactive proof', () => {
  it('number challenges through its 126 partitions', () => {
    const rules: SealRules = {
      circuitId: 'porep-32g',
      name: 'StackedDrg32GiBV1_2_Feat_NonInteractivePoRep',
      porepId: numbered(18),
      challengeRule: 'non-interactive',
      legacyGraph: false,
    }
    const commitments = {
      commD: numbered(1),
      replicaId: numbered(55),
      commR: numbered(101),
      seed: filled(9),
      ticket: filled(3),
    }
    const inputs = porepPublicInputs(commitments, challengedNodes(rules, commitments, 125))
    expect(inputs.length).toBe(32 * 327)
    const graph = new StackedGraph(2 ** 30, rules.porepId, false)
    const expected = porepChallenges('non-interactive', commitments, 2 ** 30, 125 * 18, 18).flatMap((node) => [
      node,
      ...parentsOf(graph, node),
      ...[node, node, node],
    ])
    const found = Array.from({ length: 18 * 18 }, (_, i) => Number(frFromBytes(inputs, 32 * (3 + i))))
    expect(found).toEqual(expected)
  })
})

describe('a whole 2 KiB sector', () => {
  const rules: SealRules = {
    circuitId: 'porep-2k',
    name: 'StackedDrg2KiBV1_1',
    porepId: numbered(5),
    challengeRule: 'interactive',
    legacyGraph: false,
  }
  const commD = fromHex('f699dc54f789f23e7958b6fc9196a385d5a2679849cd6b28145022db5f1d421d')
  const replicaId = fromHex('6e608f38fc0d4973d91699279fc72afe4f2edb24b99aaf7a8a8fa250aa09432f')
  const commitments = {
    commD,
    replicaId,
    commR: fromHex('7fc5bf99589cf17a28f83852fd231b40cc7192d7b45b513d506395a4527dc952'),
    seed: filled(9),
    ticket: filled(3),
  }

  it('has its replica id', () => {
    const proverId = Uint8Array.from({ length: 32 }, (_, i) => i)
    expect(replicaIdOf(proverId, 7n, commitments.ticket, commD, rules.porepId)).toEqual(replicaId)
  })

  it('has its labels', () => {
    const first = lastLayer(64, 1, replicaId, rules.porepId, false)
    expect(hex(first[0] as Uint8Array)).toBe('b92530d87251bc1ffaa2428f1d6ad252dfcff91d4dc21098e321628ae6cada2d')
    expect(hex(first[1] as Uint8Array)).toBe('254eb695ce1c3a31d20d8dce81087b26857c3c50444c9eab4d06027d018d8720')
    const second = lastLayer(64, 2, replicaId, rules.porepId, false)
    expect(hex(second[63] as Uint8Array)).toBe('0343698abc296982477601f15870227ee165bad76dfee79a4d42686d8e630a12')
  })

  it('has its public inputs', () => {
    const inputs = porepPublicInputs(commitments, challengedNodes(rules, commitments, 0))
    const numbers = Array.from({ length: 36 }, (_, i) => Number(frFromBytes(inputs, 32 * (3 + i))))
    // biome-ignore format: a table
    expect(numbers).toEqual([
      54, 53, 53, 52, 8, 53, 22, 13, 50, 61, 52, 12, 44, 28, 44, 54, 54, 54,
      41, 40, 35, 31, 39, 39, 38, 60, 30, 25, 43, 48, 54, 61, 51, 41, 41, 41,
    ])
    expect(createHash('sha256').update(inputs).digest('hex')).toBe(
      'b5b9c981a325d3253ad3cdd3a9e9194017d46c3857abbde00a8ce2760b820d7a',
    )
  })
})
