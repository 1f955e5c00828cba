import { describe, expect, it } from 'vitest'
import { proverId } from '../../../src/request/prover-id.ts'
import {
  registeredPostProof,
  registeredWindowPostProof,
  registeredWinningPostProof,
} from '../../../src/request/registered-proofs.ts'
import { proverErrorOf } from '../../support/expect-error.ts'

describe('registered PoSt proofs', () => {
  it('have the chain’s numbers', () => {
    expect([0, 1, 2, 3, 4].map(registeredWinningPostProof)).toEqual(
      ['2KiB', '8MiB', '512MiB', '32GiB', '64GiB'].map((size) => `StackedDrgWinning${size}V1`),
    )
    expect([5, 8, 10, 13, 14].map(registeredWindowPostProof)).toEqual([
      'StackedDrgWindow2KiBV1',
      'StackedDrgWindow32GiBV1',
      'StackedDrgWindow2KiBV1_2',
      'StackedDrgWindow32GiBV1_2',
      'StackedDrgWindow64GiBV1_2',
    ])
  })

  it('have Go’s names and Rust’s', () => {
    const go = registeredPostProof('StackedDrgWindow32GiBV1_1', 'window-post')
    expect(go).toBe(registeredPostProof('StackedDrgWindow32GiBV1_2', 'window-post'))
    expect(go).toEqual({
      id: 13,
      name: 'StackedDrgWindow32GiBV1_2',
      kind: 'window-post',
      circuitId: 'wpost-32g',
      apiVersion: '1.2.0',
      challengeRule: 'per-sector',
    })
    const first = registeredPostProof('StackedDrgWindow64GiBV1', 'window-post')
    expect(first).toMatchObject({ id: 9, circuitId: 'wpost-64g', apiVersion: '1.0.0', challengeRule: 'running' })
    const winning = registeredPostProof('StackedDrgWinning8MiBV1', 'winning-post')
    expect(winning).toMatchObject({ id: 1, circuitId: 'winning-8m', challengeRule: 'running' })
  })

  it.each([-1, 0, 4, 15, 5.5, Number.NaN])('refuse the number %s for window-post', (id) => {
    expect(() => registeredWindowPostProof(id)).toThrow(/5 to 14/)
  })

  it('refuse a WindowPoSt number for winning-post', () => {
    expect(() => registeredWinningPostProof(5)).toThrow(/0 to 4/)
  })

  it.each([
    // V1 and V1_2 of five sizes each; V1_1 is another name of V1_2.
    ['window-post', 10, 'StackedDrgWindow'],
    ['winning-post', 5, 'StackedDrgWinning'],
  ] as const)('of %s are named once each where another name is refused', async (kind, count, prefix) => {
    const { message, details } = await proverErrorOf(() => registeredPostProof('StackedDrg4KiBV1', kind))
    const names = details.expected?.split(' | ') ?? []
    expect(names).toHaveLength(count)
    expect(new Set(names.map((name) => registeredPostProof(name, kind).id)).size).toBe(count)
    expect(message.match(new RegExp(prefix, 'g'))).toHaveLength(count)
    expect(message.includes('(or V1_1 for V1_2)')).toBe(kind === 'window-post')
  })
})

describe('proverId', () => {
  it.each([
    [0n, '00'],
    [127n, '7f'],
    [128n, '8001'],
    [1000n, 'e807'],
    [3093900n, '8cebbc01'],
    [2n ** 64n - 1n, 'ffffffffffffffffff01'],
  ])('is the LEB128 form of %s, padded', (minerId, hex) => {
    expect(Buffer.from(proverId(minerId)).toString('hex')).toBe(hex.padEnd(64, '0'))
  })

  it('takes 64 bits', () => {
    expect(() => proverId(2n ** 64n)).toThrow(RangeError)
    expect(() => proverId(-1n)).toThrow(RangeError)
  })
})
