/**
 * The parameter files of Filecoin's trusted set-up (version 28), by the names and digests of `parameters.json` of the
 * Rust crate `filecoin-proofs`, and the names of development parameters.
 */
import { type CircuitFamily, type CircuitId, isCircuitId, parseCircuitId } from '../circuit/circuit-id.ts'
import { treeShape } from '../circuit/sector-tree.ts'
import { asError, InvalidOptionsError } from '../errors.ts'

/** One published pair of files. Digests: the first 16 bytes of BLAKE2b-512 of the whole file, in hex. */
export interface PublishedParameters {
  readonly paramsFile: string
  readonly paramsDigest: string
  readonly paramsBytes: number
  readonly vkFile: string
  readonly vkDigest: string
  readonly vkBytes: number
}

const PREFIX: Readonly<Record<CircuitFamily, (tree: string) => string>> = {
  porep: (tree) => `stacked-proof-of-replication-${tree}-sha256_hasher`,
  snap: (tree) => `empty-sector-update-${tree}`,
  wpost: (tree) => `proof-of-spacetime-fallback-${tree}`,
  winning: (tree) => `proof-of-spacetime-fallback-${tree}`,
}

type Row = readonly [
  identifierSha256: string,
  paramsDigest: string,
  vkDigest: string,
  paramsBytes: number,
  vkBytes: number,
]

/** The first column is SHA-256 of the circuit's identifier string (`CacheableParameters::cache_identifier`). */
const ROWS: Readonly<Record<CircuitId, Row>> = {
  'porep-2k': [
    '032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f',
    '434fb1338ecfaf0f59256f30dde4968f',
    'dc1ade9929ade1708238f155343044ac',
    1_114_707_768,
    4_708,
  ],
  'porep-8m': [
    'ecd683648512ab1765faa2a5f14bab48f676e633467f0aa8aad4b55dcb0652bb',
    '09e612e4eeb7a0eb95679a88404f960c',
    'b687beb9adbd9dabe265a7e3620813e4',
    1_429_027_896,
    4_708,
  ],
  'porep-512m': [
    '6babf46ce344ae495d558e7770a585b2382d54f225af8ed0397b8be7c3fcd472',
    '6c77597eb91ab936c1cef4cf19eba1b3',
    '065179da19fbe515507267677f02823e',
    1_988_841_144,
    4_708,
  ],
  'porep-32g': [
    '82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820',
    '6a388072a518cf46ebd661f5cc46900a',
    '0c7b4aac1c40fdb7eb82bc355b41addf',
    47_373_928_632,
    32_356,
  ],
  'porep-64g': [
    '96f1b4a04c5c51e4759bbf224bbc2ef5a42c7100f16ec0637123f16a845ddfb2',
    '1801f8a6e1b00bceb00cc27314bb5ce3',
    'a89884252c04c298d0b3c81bfd884164',
    47_624_967_288,
    32_356,
  ],
  'snap-2k': [
    'fb9e095bebdd77511c0269b967b4d87ba8b8a525edaa0e165de23ba454510194',
    '311f92a3e75036ced01b1c0025f1fa0c',
    'eadad9784969890d30f2749708c79771',
    655_789_464,
    1_348,
  ],
  'snap-8m': [
    '92180959e1918d26350b8e6cfe217bbdd0a2d8de51ebec269078b364b715ad63',
    '5aedd2cf3e5c0a15623d56a1b43110ad',
    'abd80269054d391a734febdac0d2e687',
    4_268_165_208,
    1_348,
  ],
  'snap-512m': [
    '61fa69f38b9cc771ba27b670124714b4ea77fbeae05e377fb859c4a43b73a30c',
    'c3ad7bb549470b82ad52ed070aebb4f4',
    '994c5b7d450ca9da348c910689f2dc7f',
    21_741_422_712,
    1_348,
  ],
  'snap-32g': [
    '3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18',
    '1b3cfd761a961543f9eb273e435a06a2',
    '3a6941983754737fde880d29c7094905',
    34_453_501_368,
    1_348,
  ],
  'snap-64g': [
    '102e1444a7e9a97ebf1e3d6855dcc77e66c011ea66f936d9b2c508f87f2f83a7',
    '1a392e7b759fb18e036c7559b5ece816',
    '80e366df2f1011953c2d01c7b7c9ee8e',
    35_507_495_352,
    1_348,
  ],
  'wpost-2k': [
    '0170db1f394b35d995252228ee359194b13199d259380541dc529fb0099096b0',
    '7610b9f82bfc88405b7a832b651ce2f6',
    '0e0958009936b9d5e515ec97b8cb792d',
    11_501_496,
    3_076,
  ],
  'wpost-8m': [
    '5294475db5237a2e83c3e52fd6c2b03859a1831d45ed08c4f35dbf9a803165a9',
    'c49499bb76a0762884896f9683403f55',
    '34d4feeacd9abf788d69ef1bb4d8fd00',
    30_859_704,
    3_076,
  ],
  'wpost-512m': [
    '0cfb4f178bbb71cf2ecfcd42accce558b27199ab4fb59cb78f2483fe21ef36d9',
    '1a7d4a9c8a502a497ed92a54366af33f',
    '4dae975de4f011f101f5a2f86d1daaba',
    45_257_400,
    3_076,
  ],
  'wpost-32g': [
    '0377ded656c6f524f1618760bffe4e0a1c51d5a70c4509eedae8a27555733edc',
    '2cf49eb26f1fee94c85781a390ddb4c8',
    '0f8ec542485568fa3468c066e9fed82b',
    60_780_374_232,
    2_481_508,
  ],
  'wpost-64g': [
    '2627e4006b67f99cef990c0a47d5426cb7ab0a0ad58fc1061547bf2d28b09def',
    '3810b7780ac0e299b22ae70f1f94c9bc',
    '59d2bf1857adc59a4f08fcf2afaa916b',
    62_556_733_560,
    2_429_764,
  ],
  'winning-2k': [
    '3ea05428c9d11689f23529cde32fd30aabd50f7d2c93657c1d3650bca3e8ea9e',
    '82c88066be968bb550a05e30ff6c2413',
    'ffd79788d614d27919ae5bd2d94eacb6',
    47_299_128,
    13_636,
  ],
  'winning-8m': [
    '50c7368dea9593ed0989e70974d28024efa9d156d585b7eea1be22b2e753f331',
    '700171ecf7334e3199437c930676af82',
    '79ebb55f56fda427743e35053edad8fc',
    113_383_224,
    13_636,
  ],
  'winning-512m': [
    '7d739b8cf60f1b0709eeebee7730e297683552e4b69cab6984ec0285663c5781',
    '827359440349fe8f5a016e7598993b79',
    'bd2cd62f65c1ab84f19ca27e97b7c731',
    165_299_640,
    13_636,
  ],
  'winning-32g': [
    '559e581f022bb4e4ec6e719e563bf0e026ad6de42e56c18714a2c692b1b88d7e',
    'd84f79a16fe40e9e25a36e2107bb1ba0',
    'fc02943678dd119e69e7fab8420e8819',
    192_050_232,
    13_636,
  ],
  'winning-64g': [
    'b62098629d07946e9028127e70295ed996fe3ed25b0f9f88eb610a0ab4385a3c',
    '2170a91ad5bae22ea61f2ea766630322',
    '6d3789148fb6466d07ee1e24d6292fd6',
    200_014_584,
    13_636,
  ],
}

/** Names, sizes and digests of a circuit's published files. */
export function publishedParameters(circuitId: CircuitId): PublishedParameters {
  const { family, size } = parseCircuitId(circuitId)
  const [identifierSha256, paramsDigest, vkDigest, paramsBytes, vkBytes] = ROWS[circuitId]
  const { base, sub, top } = treeShape(size)
  const stem = `v28-${PREFIX[family](`merkletree-poseidon_hasher-${base}-${sub}-${top}`)}-${identifierSha256}`
  return { paramsFile: `${stem}.params`, paramsDigest, paramsBytes, vkFile: `${stem}.vk`, vkDigest, vkBytes }
}

/** A file that proving or verifying needs. */
export interface RequiredFile {
  readonly circuitId: CircuitId
  /** Its name in the folder of parameters. */
  readonly name: string
  readonly bytes: number
  /** First 16 bytes of BLAKE2b-512 of the whole file, in hex, as in `parameters.json`. */
  readonly digest: string
}

/**
 * The published files that circuits need, the parameters and the verifying key of each: to fetch them, or to keep these
 * and no others.
 * @throws {InvalidOptionsError} no circuit has that name
 */
export function requiredFiles(circuitIds: readonly CircuitId[]): RequiredFile[] {
  if (!Array.isArray(circuitIds)) {
    const details = { field: 'circuitIds', expected: 'a list of circuit ids', received: typeof circuitIds }
    throw new InvalidOptionsError(`circuitIds: expected ${details.expected}, got ${details.received}`, { details })
  }
  return circuitIds.flatMap((circuitId, i) => {
    if (!isCircuitId(circuitId)) {
      const details = {
        field: `circuitIds[${i}]`,
        expected: 'a circuit id such as winning-32g',
        received: asError(circuitId).message,
      }
      throw new InvalidOptionsError(`${details.field}: expected ${details.expected}, got ${details.received}`, {
        details,
      })
    }
    const { paramsFile, paramsBytes, paramsDigest, vkFile, vkBytes, vkDigest } = publishedParameters(circuitId)
    return [
      { circuitId, name: paramsFile, bytes: paramsBytes, digest: paramsDigest },
      { circuitId, name: vkFile, bytes: vkBytes, digest: vkDigest },
    ]
  })
}

/** Names of the files that `developmentSetup` writes. */
export function developmentFileNames(circuitId: CircuitId): {
  readonly paramsFile: string
  readonly vkFile: string
  readonly markerFile: string
} {
  return {
    paramsFile: `dev-${circuitId}.params`,
    vkFile: `dev-${circuitId}.vk`,
    markerFile: `dev-${circuitId}.json`,
  }
}
