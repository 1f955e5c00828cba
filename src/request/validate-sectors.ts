/** The heads of vanilla proofs: which sectors a request proves, and whether those are the ones that the chain expects. */
import { InvalidRequestError } from '../errors.ts'
import type { PostGeometry } from '../synthesis/post-geometry.ts'
import { equalScalars, isCanonicalScalar, scalarHex } from '../synthesis/scalar-bytes.ts'
import { COMM_R_OFFSET, circuitsWithVanillaLength, sectorNumberOf, vanillaLayout } from '../synthesis/vanilla-post.ts'
import { checkArray, checkBytes, checkObject, checkScalar, checkU64 } from './fields.ts'

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
 * Reads the head of each vanilla proof and sorts by sector number, the order in which the chain verifies.
 * @throws {InvalidRequestError} not bytes, a wrong length, comm_r not canonical, or a sector twice
 */
export function validateSectors(geometry: PostGeometry, vanillaProofs: readonly unknown[]): ValidatedSector[] {
  const { totalBytes } = vanillaLayout(geometry)
  // Array.from visits the holes of a sparse array too.
  const sectors = Array.from(vanillaProofs, (value, place): ValidatedSector => {
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
  })
  // Equal numbers keep the caller's order, so that the second of two is the one named.
  sectors.sort((a, b) => (a.sectorNumber < b.sectorNumber ? -1 : a.sectorNumber > b.sectorNumber ? 1 : 0))
  for (let i = 1; i < sectors.length; i++) {
    const [first, second] = [sectors[i - 1], sectors[i]] as [ValidatedSector, ValidatedSector]
    if (first.sectorNumber !== second.sectorNumber) continue
    throw duplicate(`vanillaProofs[${second.place}]`, `vanillaProofs[${first.place}]`, second.sectorNumber)
  }
  return sectors
}

/**
 * Compares a request's sectors with those that the chain expects.
 * @throws {InvalidRequestError} one missing, one too many, one twice, or another comm_r
 */
export function checkExpectedSectors(value: unknown, sectors: readonly ValidatedSector[]): void {
  const expected = new Map<bigint, { readonly commR: Uint8Array; readonly field: string }>()
  for (const [i, entry] of checkArray(value, 'sectors', 'SectorCommitment').entries()) {
    const field = `sectors[${i}]`
    const fields = checkObject(entry, field)
    const sectorNumber = checkU64(fields.sectorNumber, `${field}.sectorNumber`)
    const commR = checkScalar(fields.commR, `${field}.commR`)
    const first = expected.get(sectorNumber)
    if (first !== undefined) throw duplicate(field, first.field, sectorNumber)
    expected.set(sectorNumber, { commR, field })
  }
  for (const sector of sectors) {
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
