/**
 * PoSt vanilla proofs: the bincode form of `FallbackPoStSectorProof` (one sector), read in place.
 *
 * bincode writes integers and lengths as fixed-width little-endian numbers and nothing else, and every length in a
 * vanilla proof follows from the sector size and the kind of PoSt. So the place of every field is known beforehand:
 * reading is comparing, nothing is allocated from a length that a file claims, and a proof of any other length is
 * refused at once.
 *
 *     sector_id u64 · comm_r 32 · sectors: length u64 = 1
 *       inclusion_proofs: length u64 · each: variant u32 (0 Single, 1 Sub, 2 Top)
 *         Single: root 32 · leaf 32 · base path        Sub, Top: base path · sub path · [top path] · root 32 · leaf 32
 *         path: length u64 · each: hashes (length u64, arity − 1 times 32) · index u64
 *       comm_c 32 · comm_r_last 32
 */
import { type CircuitId, SECTOR_SIZE_TAGS } from '../circuit/circuit-id.ts'
import { InvalidRequestError, type ProverErrorDetails } from '../errors.ts'
import { type PathArity, type PostGeometry, postGeometry } from './post-geometry.ts'
import { equalScalars, isCanonicalScalar, scalarHex } from './scalar-bytes.ts'

const SECTOR_ID = 0
const COMM_R = 8
const SECTORS_LENGTH = 40
const PROOFS_LENGTH = 48
const PROOFS = 56

/** Offsets of one level of a path, relative to its inclusion proof. */
export interface LevelLayout {
  /** Fields of the level, for errors: kept here so that a check makes no strings. */
  readonly lengthField: string
  readonly arity: PathArity
  /** Binary digits of the index: log2(arity). */
  readonly bits: number
  readonly hashesLength: number
  readonly siblings: number
  readonly index: number
}

/** Where everything lies; relative to the vanilla proof, and within one inclusion proof relative to that. */
export interface VanillaLayout {
  readonly totalBytes: number
  readonly proofBytes: number
  readonly commC: number
  readonly commRLast: number
  readonly variant: 0 | 1 | 2
  readonly root: number
  readonly leaf: number
  /** The length field of each of the one to three paths, and its value. */
  readonly paths: readonly { readonly lengthField: string; readonly length: number; readonly levels: number }[]
  readonly levels: readonly LevelLayout[]
}

/** Layout of the vanilla proofs of a circuit. */
export function vanillaLayout(geometry: PostGeometry): VanillaLayout {
  const { upperLevels: variant, arities } = geometry
  const names = variant === 0 ? ['path'] : ['base_proof', 'sub_proof', 'top_proof']
  const lengths = [arities.length - variant, ...new Array<number>(variant).fill(1)]
  let at = 4
  let root = 0
  let leaf = 0
  const commitments = (): void => {
    root = at
    leaf = at + 32
    at += 64
  }
  if (variant === 0) commitments()
  const levels: LevelLayout[] = []
  const paths = lengths.map((count, path) => {
    const length = at
    at += 8
    for (let i = 0; i < count; i++) {
      const arity = arities[levels.length] as PathArity
      const siblings = at + 8
      const index = siblings + (arity - 1) * 32
      const lengthField = `path[${levels.length}].hashes.length`
      levels.push({ lengthField, arity, bits: Math.log2(arity), hashesLength: at, siblings, index })
      at = index + 8
    }
    return { lengthField: `${names[path]}.length`, length, levels: count }
  })
  if (variant !== 0) commitments()
  const commC = PROOFS + geometry.proofChallenges * at
  return {
    totalBytes: commC + 64,
    proofBytes: at,
    commC,
    commRLast: commC + 32,
    variant,
    root,
    leaf,
    paths,
    levels,
  }
}

/** Offset of inclusion proof `challenge` in a vanilla proof. */
export function inclusionProofOffset(layout: VanillaLayout, challenge: number): number {
  return PROOFS + challenge * layout.proofBytes
}

/** The sector number that a vanilla proof claims. */
export function sectorNumberOf(bytes: Uint8Array): bigint {
  return readU64(bytes, SECTOR_ID)
}

/** Offset of comm_r from the start of a vanilla proof. */
export const COMM_R_OFFSET: number = COMM_R

/** Which circuits' vanilla proofs are this long: a hint for the caller that passed a file of another kind or size. */
export function circuitsWithVanillaLength(bytes: number): readonly CircuitId[] {
  return (['wpost', 'winning'] as const)
    .flatMap((family) => SECTOR_SIZE_TAGS.map((size): CircuitId => `${family}-${size}`))
    .filter((circuitId) => vanillaLayout(postGeometry(circuitId)).totalBytes === bytes)
}

/** Whose vanilla proof it is. */
export interface VanillaProofRef {
  readonly sector: bigint
  /** Of the vanilla proof in the caller's array. */
  readonly place: number
}

/** One vanilla proof to be inspected. */
export interface VanillaProofView extends VanillaProofRef {
  readonly bytes: Uint8Array
  /** What the chain's randomness asks to open. */
  readonly challenges: Uint32Array
}

/**
 * Checks everything about a vanilla proof that needs no hash: each length, tag and index, that the indices are those of
 * the challenges, that the roots are comm_r_last, and that each of the scalars is canonical. Together with the hashes
 * of `check-paths.ts`, or with the rows of the circuit, no bit of a vanilla proof is left that could change unnoticed.
 *
 * @throws {InvalidRequestError} with the sector, the challenge and the field at fault
 */
export function inspectVanillaProof(geometry: PostGeometry, layout: VanillaLayout, proof: VanillaProofView): void {
  checkU64(proof, SECTORS_LENGTH, 1, 'sectors.length', undefined)
  checkU64(proof, PROOFS_LENGTH, geometry.proofChallenges, 'inclusion_proofs.length', undefined)
  checkScalar(proof, COMM_R, 'comm_r', undefined)
  checkScalar(proof, layout.commC, 'comm_c', undefined)
  checkScalar(proof, layout.commRLast, 'comm_r_last', undefined)
  for (let challenge = 0; challenge < geometry.proofChallenges; challenge++) {
    inspectInclusionProof(layout, proof, challenge)
  }
}

function inspectInclusionProof(layout: VanillaLayout, proof: VanillaProofView, challenge: number): void {
  const { bytes } = proof
  const base = inclusionProofOffset(layout, challenge)
  const variant = readU32(bytes, base)
  if (variant !== layout.variant) {
    throw fault(proof, challenge, 'variant', 'the tree of another sector size', String(layout.variant), String(variant))
  }
  for (const path of layout.paths) checkU64(proof, base + path.length, path.levels, path.lengthField, challenge)

  let leaf = 0
  let shift = 0
  for (let i = 0; i < layout.levels.length; i++) {
    const level = layout.levels[i] as LevelLayout
    checkU64(proof, base + level.hashesLength, level.arity - 1, level.lengthField, challenge)
    for (let k = 0; k < level.arity - 1; k++) {
      const at = base + level.siblings + k * 32
      // Asked twice so that the field's name is only made for a fault: this runs 1.7 million times in a 32 GiB
      // partition.
      if (!isCanonicalScalar(bytes, at)) checkScalar(proof, at, `path[${i}].hashes[${k}]`, challenge)
    }
    const index = readU32(bytes, base + level.index)
    if (index >= level.arity || readU32(bytes, base + level.index + 4) !== 0) {
      const received = String(readU64(bytes, base + level.index))
      const expected = `below ${level.arity}`
      throw fault(proof, challenge, `path[${i}].index`, 'an index outside its group', expected, received)
    }
    leaf += index * 2 ** shift
    shift += level.bits
  }
  if (leaf !== proof.challenges[challenge]) {
    throw fault(
      proof,
      challenge,
      'path',
      'opens another leaf than the randomness asks for',
      `leaf ${proof.challenges[challenge]}`,
      `leaf ${leaf}`,
    )
  }
  checkScalar(proof, base + layout.leaf, 'leaf', challenge)
  if (!equalScalars(bytes, base + layout.root, bytes, layout.commRLast)) {
    throw fault(
      proof,
      challenge,
      'root',
      'differs from comm_r_last',
      scalarHex(bytes, layout.commRLast),
      scalarHex(bytes, base + layout.root),
    )
  }
}

function checkU64(
  proof: VanillaProofView,
  at: number,
  expected: number,
  field: string,
  challenge: number | undefined,
): void {
  if (readU32(proof.bytes, at) === expected && readU32(proof.bytes, at + 4) === 0) return
  throw fault(proof, challenge, field, 'a wrong length', String(expected), String(readU64(proof.bytes, at)))
}

function checkScalar(proof: VanillaProofView, at: number, field: string, challenge: number | undefined): void {
  if (isCanonicalScalar(proof.bytes, at)) return
  throw fault(
    proof,
    challenge,
    field,
    'not a canonical field element',
    '32 bytes little-endian below r',
    scalarHex(proof.bytes, at),
  )
}

/** An error that says where in which vanilla proof a fault is. */
export function fault(
  { sector, place }: VanillaProofRef,
  challenge: number | undefined,
  field: string,
  problem: string,
  expected: string,
  received: string,
): InvalidRequestError {
  const path = challenge === undefined ? field : `inclusion_proofs[${challenge}].${field}`
  const details: ProverErrorDetails = {
    field: `vanillaProofs[${place}].${path}`,
    sector,
    ...(challenge !== undefined && { challenge }),
    expected,
    received,
  }
  const of = challenge === undefined ? `sector ${sector}` : `sector ${sector}, challenge ${challenge}`
  return new InvalidRequestError(`${details.field} (${of}): ${problem}: expected ${expected}, got ${received}`, {
    details,
  })
}

function readU32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  )
}

function readU64(bytes: Uint8Array, at: number): bigint {
  return BigInt(readU32(bytes, at)) | (BigInt(readU32(bytes, at + 4)) << 32n)
}
