import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { customTag, merkleTreeTag, poseidonConstants } from '../../src/circuit/poseidon/constants.ts'
import { poseidonHash } from '../../src/circuit/poseidon/hash.ts'
import { identityMatrix, matrixProduct, solveLeft } from '../../src/circuit/poseidon/matrix.ts'
import { frToBytes, integerFromBytes } from '../../src/field/fr.ts'

/** SHA-256 of elements as 32 bytes little-endian each. */
function fingerprint(elements: readonly bigint[]): string {
  const hash = createHash('sha256')
  for (const element of elements) hash.update(frToBytes(element))
  return hash.digest('hex')
}

/** Fingerprints of whole tables as neptune generates them; matrices row-major, sparse ones as wHat then vRest. */
const TABLES = [
  {
    arity: 2,
    compressed: 'b768b730ce5198394d948d76421ab53b08cc16ec1ac082cf503f370192253e16',
    raw: 'cf4dfb7448132022e22b32e3dce6b125cb06329448f9e8d8fe53a71c73cbe6d4',
    mds: 'b55e71db69c416c830c28ca9871f933b6c27220eae309801c981ee3b0885ee51',
    preSparse: '13d6e8e5ba45b0d2096617d055499f36adad1aab6853de143ed42b14eea9a0f6',
    sparse: 'a2fe507a83bddb8d57e5a00e7e58e79800c272b0db7dd4141943f6e567e99138',
  },
  {
    arity: 4,
    compressed: '3e4ec19ded2c86a89f3d6bddc13d9571a0cc5473e7207cfbaf6a8169a69f5709',
    raw: '91e463d6553415b3901b9f26b2ad53e6298ac3e5ab0ef260d397bafe8bdde98e',
    mds: '42a9ccbf22e42dc598fbe106f6b5019b46d545a725eb7538ba6bcf3765b350ab',
    preSparse: 'aee67dfb1ae8c43eca89f5742a745c6309f2d302ab741b75d2641b7025d87413',
    sparse: 'f1c3c3a9fe9ea4a3c38c91971e5f379da38123fe1dcf960b461d84c5ba759f2b',
  },
  {
    arity: 8,
    compressed: 'f5a94aea73a583d080abdf7d71259fab9107f5523a4a1eddc41468f94564dd16',
    raw: '9a4a743575f0eaf285c93d73f8adaf4e7ef4042c2445b42bddaf1a64e5face72',
    mds: '82d366586a4b49ae74f4c5bbc94bbed0a0eb064584097367d926ae1f11e30894',
    preSparse: 'dcfbdaea3eb7e347664c8f881c5443b1895f10c85cab0878022eb287defa8587',
    sparse: '3f823785875d8cc161c963d2a62d103a3fefab30eb4244cef877d8e624fb79f4',
  },
  {
    arity: 11,
    compressed: '2d7c0e4e9b98eda82102b69f1a964ae59ccf98b0008b6d3d632d86f4fea79d1d',
    raw: '479dc0d71d694cd50d853dec0c94aeb37df2a69929eaa23b545a52b1226aec06',
    mds: '7ef350e5db367cae7828071ca354fefd25c59fe77e31261d27fb2ce8f14ff956',
    preSparse: 'f2a7353f0ce5ad724a7a58bf2db0e37f7c5662f064a6c97466021af83279a96e',
    sparse: '810a4d7f126f6e5fb3eb1980b57c70f90bb835219373d955726e30b3ca931556',
  },
] as const

/** neptune's `test_hash_values` (inputs 0, 1, 2, …), and the hash of all zeros. */
const HASHES = [
  {
    arity: 2,
    counting: 0x396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ffn,
    zeros: 0x48fe0b1331196f6cdb33a7c6e5af61b76fd388e1ef1d3d418be5147f0e4613d4n,
  },
  {
    arity: 4,
    counting: 0x58a54b10a9e5848a00db3c6579229399fb6b4605bf1327ec019814ff6662075dn,
    zeros: 0x65cec475d81e7e5f0f13b878b866d3eef99a58932383621b64472e952b9711bcn,
  },
  {
    arity: 8,
    counting: 0x2394611da3a5de5512010042116770774b682e9d9cc4aed92a9934f56d38a5e6n,
    zeros: 0x3f79e614b63889f904a036088bc029f5337c0be60db389d13482b431caff9b3an,
  },
  {
    arity: 11,
    counting: 0x0c0fc1b2e5227f286ca537e232ebe87a09f3dcd8ccb08fc1cee3bbc32b693163n,
    zeros: 0x441f2dea348692cf18215eb61da1681b69d57e70108853c985c8b7d1c14ffe94n,
  },
] as const

describe('Poseidon constants', () => {
  it.each(TABLES)('of arity $arity are neptune’s', ({ arity, ...expected }) => {
    const { roundConstants, compressed, mds, preSparse, sparse } = poseidonConstants(arity)
    expect({
      compressed: fingerprint(compressed),
      raw: fingerprint(roundConstants),
      mds: fingerprint(mds.flat()),
      preSparse: fingerprint(preSparse.flat()),
      sparse: fingerprint(sparse.flatMap(({ wHat, vRest }) => [...wHat, ...vRest])),
    }).toEqual(expected)
  })

  it('are made once', () => {
    expect(poseidonConstants(8)).toBe(poseidonConstants(8))
  })

  it('refuse an arity without an instance', () => {
    expect(() => poseidonConstants(3)).toThrow(RangeError)
  })
})

describe('Poseidon hash', () => {
  it.each(HASHES)('of $arity elements', ({ arity, counting, zeros }) => {
    expect(poseidonHash(Array.from({ length: arity }, (_, i) => BigInt(i)))).toBe(counting)
    expect(poseidonHash(new Array<bigint>(arity).fill(0n))).toBe(zeros)
  })

  it('with the tag that SnapDeals derives randomness with', () => {
    expect(customTag(1)).toBe(2n ** 40n)
    expect(poseidonHash([0n, 1n], customTag(1))).toBe(
      0x314a35c4e7f0924ead1fc58134a0fe25e3580bea397367c7e5a74ec4bc077758n,
    )
    expect(merkleTreeTag(11)).toBe(2047n)
  })

  it('of a tree of the leaves 1, 0, 0, 1 has the root of filecoin-hashers’ test', () => {
    const limbs = (...words: readonly bigint[]): bigint => words.reduceRight((sum, word) => (sum << 64n) | word, 0n)
    const left = poseidonHash([1n, 0n])
    expect(left).toBe(limbs(0xb339ff6079800b5en, 0xec5907b3dc3094afn, 0x93c003cc74a24f26n, 0x042f94ffbe786bc3n))
    expect(poseidonHash([left, poseidonHash([0n, 1n])])).toBe(
      limbs(0xefbb8be3e291e671n, 0x77cc72b8cb2b5ad2n, 0x30eb6385ae6b74aen, 0x1effebb7b26ad9ebn),
    )
  })
})

describe('matrices', () => {
  const random = (n: number, seed: string): bigint[][] =>
    Array.from({ length: n }, (_, i) =>
      Array.from({ length: n }, (_, j) => {
        const digest = createHash('sha256').update(`${seed} ${i} ${j}`).digest()
        return integerFromBytes(digest) >> 2n
      }),
    )

  it('invert, also where a pivot is 0', () => {
    const matrix = random(5, 'matrix')
    ;(matrix[0] as bigint[])[0] = 0n
    expect(matrixProduct(solveLeft(matrix, identityMatrix(5)), matrix)).toEqual(identityMatrix(5))
  })

  it('solve X·A = B', () => {
    const [a, b] = [random(4, 'a'), random(4, 'b').slice(0, 2)]
    expect(matrixProduct(solveLeft(a, b), a)).toEqual(b)
  })

  it('tell a singular matrix', () => {
    expect(() =>
      solveLeft(
        [
          [1n, 2n],
          [2n, 4n],
        ],
        identityMatrix(2),
      ),
    ).toThrow(/singular/)
  })
})
