/**
 * The heads of vanilla proofs: which sectors a request proves, and whether those are the ones that the chain expects.
 */
import { InvalidRequestError } from '../errors.ts'
import type { PostGeometry } from '../synthesis/post-geometry.ts'
import { equalScalars, isCanonicalScalar, scalarHex } from '../synthesis/scalar-bytes.ts'
import { COMM_R_OFFSET, circuitsWithVanillaLength, sectorNumberOf, vanillaLayout } from '../synthesis/vanilla-post.ts'
import { checkArray, checkBytes, checkObject, checkScalar, checkU64, invalidField } from './fields.ts'
import type { Steps } from './steps.ts'

export interface ValidatedSector {
  readonly sectorNumber: bigint
  /** 32 bytes, canonical. */
  readonly commR: Uint8Array
  /** Place of the vanilla proof in the caller's array. */
  readonly place: number
  /** The caller's buffer, of the right length. */
  readonly vanillaProof: Uint8Array
}

/**
 * Proofs of one request. A message to the chain carries three or four; this leaves room for a whole deadline of a large
 * miner. What asks for more is a mistake, and its vanilla proofs would take gigabytes.
 */
export const MOST_PARTITIONS = 64

/** Sectors between two yields: a microsecond or two each. */
const SECTORS_PER_STEP = 256

/**
 * Reads the head of each vanilla proof and sorts by sector number, the order in which the chain verifies.
 * @throws {InvalidRequestError} too many, not bytes, a wrong length, comm_r not canonical, or a sector twice
 */
export function* validateSectors(
  geometry: PostGeometry,
  vanillaProofs: readonly unknown[],
): Steps<readonly ValidatedSector[]> {
  const most = MOST_PARTITIONS * geometry.sectorsPerPartition
  if (vanillaProofs.length > most) {
    const expected = `at most ${most} vanilla proofs (${MOST_PARTITIONS} partitions)`
    throw invalidField('vanillaProofs', expected, vanillaProofs, '. Ask for the rest in another request')
  }
  const sectors = new Map<bigint, ValidatedSector>()
  // A copy: the caller may change the list while the event loop turns. It has the holes of a sparse array as undefined.
  for (const [place, value] of [...vanillaProofs].entries()) {
    const sector = readHead(geometry, value, place)
    const first = sectors.get(sector.sectorNumber)
    if (first !== undefined) {
      throw duplicate(`vanillaProofs[${place}]`, `vanillaProofs[${first.place}]`, sector.sectorNumber)
    }
    sectors.set(sector.sectorNumber, sector)
    if (place % SECTORS_PER_STEP === 0) yield
  }
  // Numbers alone are sorted natively, 150,000 of them in about 10 ms; objects by a comparison take ten times as long.
  const order = new BigUint64Array(sectors.size)
  let count = 0
  for (const sectorNumber of sectors.keys()) {
    order[count++] = sectorNumber
    if (count % SECTORS_PER_STEP === 0) yield
  }
  order.sort()
  const sorted: ValidatedSector[] = []
  for (const sectorNumber of order) {
    sorted.push(sectors.get(sectorNumber) as ValidatedSector)
    if (sorted.length % SECTORS_PER_STEP === 0) yield
  }
  return sorted
}

function readHead(geometry: PostGeometry, value: unknown, place: number): ValidatedSector {
  const { totalBytes } = vanillaLayout(geometry)
  const field = `vanillaProofs[${place}]`
  const vanillaProof = checkBytes(value, field)
  if (vanillaProof.length !== totalBytes) throw wrongLength(geometry, field, vanillaProof.length, totalBytes)
  const sectorNumber = sectorNumberOf(vanillaProof)
  if (!isCanonicalScalar(vanillaProof, COMM_R_OFFSET)) {
    const expected = '32 bytes little-endian below r'
    const received = scalarHex(vanillaProof, COMM_R_OFFSET)
    throw new InvalidRequestError(`${field}.comm_r (sector ${sectorNumber}): not a canonical field element`, {
      details: { field: `${field}.comm_r`, sector: sectorNumber, expected, received },
    })
  }
  const commR = new Uint8Array(vanillaProof.subarray(COMM_R_OFFSET, COMM_R_OFFSET + 32))
  return { sectorNumber, commR, place, vanillaProof }
}

/**
 * Compares a request's sectors with those that the chain expects.
 * @throws {InvalidRequestError} one missing, one too many, one twice, or another comm_r
 */
export function* checkExpectedSectors(value: unknown, sectors: readonly ValidatedSector[]): Steps<void> {
  const expected = new Map<bigint, { readonly commR: Uint8Array; readonly field: string }>()
  const list = checkArray(value, 'sectors', 'SectorCommitment')
  for (let i = 0; i < list.length; i++) {
    if (i % SECTORS_PER_STEP === SECTORS_PER_STEP - 1) yield
    const entry = list[i]
    const field = `sectors[${i}]`
    const fields = checkObject(entry, field)
    const sectorNumber = checkU64(fields.sectorNumber, `${field}.sectorNumber`)
    const commR = checkScalar(fields.commR, `${field}.commR`)
    const first = expected.get(sectorNumber)
    if (first !== undefined) throw duplicate(field, first.field, sectorNumber)
    expected.set(sectorNumber, { commR, field })
  }
  for (const [i, sector] of sectors.entries()) {
    if (i % SECTORS_PER_STEP === SECTORS_PER_STEP - 1) yield
    const { sectorNumber, place } = sector
    const entry = expected.get(sectorNumber)
    if (entry === undefined) {
      throw new InvalidRequestError(`vanillaProofs[${place}] is of sector ${sectorNumber}, which is not in sectors`, {
        details: { field: `vanillaProofs[${place}]`, sector: sectorNumber },
      })
    }
    if (!equalScalars(entry.commR, 0, sector.commR, 0)) {
      const details = {
        field: `vanillaProofs[${place}].comm_r`,
        sector: sectorNumber,
        expected: scalarHex(entry.commR),
        received: scalarHex(sector.commR),
      }
      throw new InvalidRequestError(
        `${details.field} (sector ${sectorNumber}): differs from ${entry.field}.commR: expected ${details.expected}, ` +
          `got ${details.received}; the file may be of the sector's state before an update`,
        { details },
      )
    }
    expected.delete(sectorNumber)
  }
  for (const [sectorNumber, { field }] of expected) {
    throw new InvalidRequestError(`${field}: sector ${sectorNumber} has no vanilla proof`, {
      details: { field, sector: sectorNumber },
    })
  }
}

function duplicate(field: string, firstField: string, sector: bigint): InvalidRequestError {
  return new InvalidRequestError(`${field}: sector ${sector} is already given by ${firstField}; each is proved once`, {
    details: { field, sector, received: firstField },
  })
}

function wrongLength(geometry: PostGeometry, field: string, length: number, totalBytes: number): InvalidRequestError {
  const expected = `${totalBytes} bytes`
  const received = `${length} bytes`
  const others = circuitsWithVanillaLength(length)
  const hint = others.length > 0 ? `, the length of one of ${others.join(' or ')}` : ''
  return new InvalidRequestError(
    `${field} must be a vanilla proof of ${geometry.circuitId}, ${expected}, got ${received}${hint}`,
    { details: { field, expected, received } },
  )
}
