import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type CircuitId, parseCircuitId, SECTOR_SIZE_BYTES, SECTOR_SIZE_TAGS } from '../../src/circuit/circuit-id.ts'
import { decodeG1, encodeG1, encodeG2 } from '../../src/curve/encoding.ts'
import { G1 } from '../../src/curve/points.ts'
import { paramsLayout, QUERIES } from '../../src/params/layout.ts'
import { developmentFileNames, publishedParameters } from '../../src/params/published.ts'
import { parseVerifyingKey, VK_HEADER_BYTES } from '../../src/params/verifying-key.ts'
import { vectorFile, vectorJson } from '../support/vectors.ts'

const CIRCUITS = (['porep', 'snap', 'wpost', 'winning'] as const).flatMap((family) =>
  SECTOR_SIZE_TAGS.map((size): CircuitId => `${family}-${size}`),
)

/**
 * What `CacheableParameters::cache_identifier` gives for a PoSt or an update circuit, written out from the constants of
 * each size.
 */
function identifier(circuitId: CircuitId): string | undefined {
  const { family, size } = parseCircuitId(circuitId)
  const bytes = SECTOR_SIZE_BYTES[size]
  const windowSectors = { '2k': 2, '8m': 2, '512m': 2, '32g': 2349, '64g': 2300 }[size]
  switch (family) {
    case 'wpost':
      return `FallbackPoSt::PublicParams{sector_size: ${bytes}, challenge_count: 10, sector_count: ${windowSectors}}`
    case 'winning':
      return `FallbackPoSt::PublicParams{sector_size: ${bytes}, challenge_count: 1, sector_count: 66}`
    case 'snap':
      return `empty_sector_update::PublicParams{ sector_nodes: ${bytes / 32} }`
    case 'porep': {
      const tree = { '2k': '8-0-0', '8m': '8-0-0', '512m': '8-0-0', '32g': '8-8-0', '64g': '8-8-2' }[size]
      const [layers, challenges] = size === '32g' || size === '64g' ? [11, 18] : [2, 2]
      return `layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{expansion_degree: 8 base_graph: drgraph::BucketGraph{size: ${bytes / 32}; degree: 6; hasher: poseidon_hasher} }, challenges: LayerChallenges { layers: ${layers}, max_count: ${challenges} }, tree: merkletree-poseidon_hasher-${tree} }`
    }
  }
}

describe('published parameters', () => {
  it('file names follow from the circuits constants', () => {
    for (const circuitId of CIRCUITS) {
      const hash = createHash('sha256')
        .update(identifier(circuitId) as string)
        .digest('hex')
      const { paramsFile, vkFile } = publishedParameters(circuitId)
      expect(paramsFile, circuitId).toContain(`-${hash}.params`)
      expect(vkFile, circuitId).toContain(`-${hash}.vk`)
    }
  })

  it('names in full', () => {
    expect(publishedParameters('porep-32g').paramsFile).toBe(
      'v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820.params',
    )
    expect(publishedParameters('snap-2k').vkFile).toBe(
      'v28-empty-sector-update-merkletree-poseidon_hasher-8-0-0-fb9e095bebdd77511c0269b967b4d87ba8b8a525edaa0e165de23ba454510194.vk',
    )
    expect(publishedParameters('winning-64g').paramsFile).toBe(
      'v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-2-b62098629d07946e9028127e70295ed996fe3ed25b0f9f88eb610a0ab4385a3c.params',
    )
    expect(developmentFileNames('wpost-2k')).toEqual({
      paramsFile: 'dev-wpost-2k.params',
      vkFile: 'dev-wpost-2k.vk',
      markerFile: 'dev-wpost-2k.json',
    })
  })

  it('all digests and names differ', () => {
    const all = CIRCUITS.map(publishedParameters)
    expect(new Set(all.flatMap((p) => [p.paramsDigest, p.vkDigest])).size).toBe(40)
    expect(new Set(all.flatMap((p) => [p.paramsFile, p.vkFile])).size).toBe(40)
    expect(all.every((p) => /^[0-9a-f]{32}$/.test(p.paramsDigest) && /^[0-9a-f]{32}$/.test(p.vkDigest))).toBe(true)
  })
})

describe('layout', () => {
  it('gives the sizes of the reference files', () => {
    const post = { ...vectorJson('2KiB/params.json'), 'winning 32 GiB': vectorJson('32GiB/params.json').winning }
    for (const recorded of Object.values(post) as Record<string, never>[]) {
      const { params, vk, lengths } = recorded as unknown as {
        params: { bytes: number }
        vk: { bytes: number }
        lengths: Record<string, number> & { ic: number; a: number; b_g1: number; l: number; h: number }
      }
      const layout = paramsLayout({
        inputs: lengths.ic,
        aux: lengths.l,
        log2Domain: Math.log2(lengths.h + 1),
        density: {
          aAux: new Uint8Array(0),
          aAuxCount: lengths.a - lengths.ic,
          bAux: new Uint8Array(0),
          bAuxCount: lengths.b_g1 - 1,
        },
      })
      expect(layout.fileBytes).toBe(params.bytes)
      expect(layout.vkBytes).toBe(vk.bytes)
      for (const query of QUERIES) expect(layout.queries[query].points).toBe(lengths[query])
    }
  })
})

describe('verifying key', () => {
  const file = 'some.vk'
  const bytes = vectorFile('2KiB/window-2KiB.vk')

  it.each([
    ['2KiB/window-2KiB.vk', 23],
    ['2KiB/winning-2KiB.vk', 133],
    ['2KiB/porep-2KiB.vk', 40],
    ['2KiB/update-2KiB.vk', 5],
    ['32GiB/winning-32GiB.vk', 133],
    ['thirdparty/winning-32GiB.vk', 133],
  ])('%s', (path, inputs) => {
    const vk = vectorFile(path)
    const key = parseVerifyingKey(vk, { file: path, inputs })
    expect(key.inputs).toBe(inputs)
    const parts = [key.alphaG1, key.betaG1].map(encodeG1)
    parts.push(...[key.betaG2, key.gammaG2].map(encodeG2), encodeG1(key.deltaG1), encodeG2(key.deltaG2))
    expect(Buffer.concat(parts)).toEqual(Buffer.from(vk.subarray(0, 864)))
    expect(Buffer.from(key.ic)).toEqual(Buffer.from(vk.subarray(868)))
  })

  const refused = (changed: Uint8Array, expected: string, received: string, inputs?: number): void =>
    expect(() => parseVerifyingKey(changed, { file, inputs })).toThrow(
      expect.objectContaining({ code: 'ERR_SRS_UNAVAILABLE', retryable: true, details: { file, expected, received } }),
    )

  it('of wrong length is refused', () => {
    refused(new Uint8Array(0), '868 bytes'.replace(/^/, 'at least '), '0 bytes')
    refused(bytes.subarray(0, 3075), '3076 bytes', '3075 bytes')
    refused(new Uint8Array([...bytes, 0]), '3076 bytes', '3077 bytes')
    refused(bytes.subarray(0, 3076 - 96), '3076 bytes', '2980 bytes')
  })

  it('of another circuit is refused', () => {
    refused(bytes, '133 public inputs', '23 public inputs', 133)
    const none = bytes.slice(0, 868)
    none.fill(0, 864)
    refused(none, 'at least 1 public input', '0 public inputs')
  })

  it('with a point off the curve, at infinity or outside the subgroup is refused by name', () => {
    const point = 'a point of the subgroup other than infinity'
    const change = (at: number, point: Uint8Array | number): Uint8Array => {
      const changed = bytes.slice()
      if (typeof point === 'number') changed[at] = point
      else changed.set(point, at)
      return changed
    }
    const flipped = (at: number): Uint8Array => change(at, (bytes[at] as number) ^ 1)
    refused(flipped(50), point, 'alpha_g1: off the curve')
    refused(flipped(200), point, 'beta_g2: off the curve')
    refused(flipped(800), point, 'delta_g2: off the curve')
    refused(flipped(VK_HEADER_BYTES + 5 * 96 + 90), point, 'ic[5]: off the curve')
    refused(change(VK_HEADER_BYTES + 96, encodeG1(G1.ZERO)), point, 'ic[1]: infinity')
    // (4, √68) is on the curve and outside the subgroup.
    const stray = new Uint8Array(96)
    stray[47] = 4
    const sqrt68 = 0x0a989badd40d6212b33cffc3f3763e9bc760f988c9926b26da9dd85e928483446346b8ed00e1de5d5ea93e354abe706cn
    stray.set(Buffer.from(sqrt68.toString(16).padStart(96, '0'), 'hex'), 48)
    expect(() => decodeG1(stray, { subgroup: false })).not.toThrow()
    refused(change(0, stray), point, 'alpha_g1: outside the subgroup')
    refused(change(VK_HEADER_BYTES + 3 * 96, stray), 'points of the subgroup', 'ic: outside the subgroup')
    expect(parseVerifyingKey(change(0, stray), { file, trusted: true }).inputs).toBe(23)
  })
})
