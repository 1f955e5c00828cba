/**
 * Digest of a circuit, as `TestConstraintSystem::hash` of bellpepper-core makes it: BLAKE2s-256 over the counts of
 * inputs, aux and constraints (u64 big-endian), then every row. A row is A, B and C; a linear combination is its count
 * of nonzero terms (u64 big-endian), then for each term, inputs first, by rising index: `I` or `A`, the index (u64
 * big-endian), the coefficient (32 bytes big-endian).
 */
import { frToBytes } from '../field/fr.ts'
import { shapeStatistics } from './density.ts'
import { type CircuitShape, type CoefficientTable, INPUT, KIND_MASK, NUMBER_MASK } from './shape.ts'
import { locateRow, type Row, type Terms, walkRows } from './walk-rows.ts'

/**
 * What hashes the rows of a circuit: the walker of this file with any BLAKE2s, or an engine that walks templates by
 * itself.
 */
export interface RowHasher {
  /**
   * @param header goes before the rows into `hash`, but not into the other digests
   * @param every rows between checkpoints; none if undefined
   */
  hashRows(shape: CircuitShape, header: Uint8Array, every: number | undefined): RowDigests | Promise<RowDigests>
}

/** BLAKE2s-256 digests, 32 bytes each. */
export interface RowDigests {
  /** Of the header and all rows. */
  readonly hash: Uint8Array
  /** Of all rows. */
  readonly stream: Uint8Array
  /** Of the first `every`, 2 · `every`, … rows. */
  readonly checkpoints: readonly Uint8Array[]
}

/** State of the stream after some constraints. Counts of inputs include ONE. */
export interface DigestCheckpoint {
  readonly constraints: number
  readonly inputs: number
  readonly aux: number
  readonly stream: string
}

/** Everything that identifies a circuit. Field names are those of the reference's output; digests are hexadecimal. */
export interface CircuitDigest {
  readonly inputs: number
  readonly aux: number
  readonly constraints: number
  readonly log2_domain: number
  readonly nonzeros: { readonly a: number; readonly b: number; readonly c: number }
  readonly density: { readonly a_aux: number; readonly b_aux: number; readonly b_inputs: number }
  readonly hash: string
  readonly stream: string
  readonly every?: number
  readonly checkpoints: readonly DigestCheckpoint[]
}

/**
 * Hashes a circuit.
 * @param options.every a checkpoint each so many constraints
 * @throws {RangeError} `every` is not a positive integer
 */
export async function circuitDigest(
  shape: CircuitShape,
  hasher: RowHasher,
  options: { readonly every?: number | undefined } = {},
): Promise<CircuitDigest> {
  const { every } = options
  if (every !== undefined && !(Number.isSafeInteger(every) && every > 0)) {
    throw new RangeError(`expected \`every\` to be a positive integer, got ${every}`)
  }
  const { nonzeros, density } = shapeStatistics(shape)
  const { hash, stream, checkpoints } = await hasher.hashRows(shape, digestHeader(shape), every)
  return {
    inputs: shape.inputs,
    aux: shape.aux,
    constraints: shape.constraints,
    log2_domain: shape.log2Domain,
    nonzeros,
    density: { a_aux: density.aAux, b_aux: density.bAux, b_inputs: density.bInputs },
    hash: toHex(hash),
    stream: toHex(stream),
    ...(every !== undefined && { every }),
    checkpoints: checkpoints.map((digest, i) => {
      const constraints = (i + 1) * (every as number)
      const { inputs, aux } = locateRow(shape, constraints - 1)
      return { constraints, inputs, aux, stream: toHex(digest) }
    }),
  }
}

/** The 24 bytes in front of the rows. */
export function digestHeader(shape: Pick<CircuitShape, 'inputs' | 'aux' | 'constraints'>): Uint8Array {
  const header = new Uint8Array(24)
  const view = new DataView(header.buffer)
  view.setBigUint64(0, BigInt(shape.inputs))
  view.setBigUint64(8, BigInt(shape.aux))
  view.setBigUint64(16, BigInt(shape.constraints))
  return header
}

/** An incremental BLAKE2s-256, e.g. `blake2s.create()` of @noble/hashes. */
export interface Hash {
  update(bytes: Uint8Array): unknown
  digest(): Uint8Array
  clone(): Hash
}

/** A {@link RowHasher} of {@link walkRows}: the reference, for circuits of up to some hundred thousand rows. */
export function walkingHasher(create: () => Hash): RowHasher {
  return {
    hashRows(shape, header, every) {
      const hash = create()
      const stream = create()
      const checkpoints: Uint8Array[] = []
      const encoder = new RowEncoder(shape.coefficients)
      const flush = (): void => {
        const bytes = encoder.take()
        hash.update(bytes)
        stream.update(bytes)
      }
      hash.update(header)
      walkRows(shape, (row) => {
        encoder.push(row)
        const mark = every !== undefined && (row.index + 1) % every === 0
        if (mark || encoder.length > FLUSH_BYTES) flush()
        if (mark) checkpoints.push(stream.clone().digest())
      })
      flush()
      return { hash: hash.digest(), stream: stream.digest(), checkpoints }
    },
  }
}

const FLUSH_BYTES = 2 ** 16
const TERM_BYTES = 41

class RowEncoder {
  length = 0
  #bytes = new Uint8Array(2 * FLUSH_BYTES)
  #view = new DataView(this.#bytes.buffer)
  readonly #coefficients: readonly Uint8Array[]

  constructor(coefficients: CoefficientTable) {
    this.#coefficients = coefficients.map((coefficient) => frToBytes(coefficient).reverse())
  }

  push({ a, b, c }: Row): void {
    this.#reserve(24 + TERM_BYTES * (a.count + b.count + c.count))
    this.#pushTerms(a)
    this.#pushTerms(b)
    this.#pushTerms(c)
  }

  /** The bytes so far; valid until the next push. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.length)
    this.length = 0
    return bytes
  }

  #pushTerms(terms: Terms): void {
    // Counts and indices are below 2^32: the upper halves are 0.
    this.#view.setUint32(this.length, 0)
    this.#view.setUint32(this.length + 4, terms.count)
    this.length += 8
    for (let i = 0; i < terms.count; i++) {
      const variable = terms.variables[i] as number
      this.#bytes[this.length] = (variable & KIND_MASK) >>> 0 === INPUT ? 0x49 : 0x41
      this.#view.setUint32(this.length + 1, 0)
      this.#view.setUint32(this.length + 5, variable & NUMBER_MASK)
      this.#bytes.set(this.#coefficients[terms.coefficients[i] as number] as Uint8Array, this.length + 9)
      this.length += TERM_BYTES
    }
  }

  #reserve(bytes: number): void {
    if (this.length + bytes <= this.#bytes.length) return
    const larger = new Uint8Array(2 * (this.length + bytes))
    larger.set(this.#bytes.subarray(0, this.length))
    this.#bytes = larger
    this.#view = new DataView(larger.buffer)
  }
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
