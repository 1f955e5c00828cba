/**
 * Vanilla proofs of seals and updates as records of fixed size.
 *
 * They come as JSON and as bincode. Every length in them follows from the sector size, so one description of the form
 * serves both: bincode is the record's bytes as they are, JSON is written into them. What reads a record knows the
 * place of each field beforehand; no object is made a hash, and nothing is allocated from a length that a file claims.
 *
 * bincode: integers and lengths as fixed-width little-endian numbers (lengths 8 bytes, enum tags 4), fields one after
 * another.
 */
import { isCanonicalScalar, scalarHex } from './scalar-bytes.ts'

/** Form of a value. `bytes` is its size. */
export type RecordLayout =
  /** 32 bytes; a scalar is canonical, plain bytes are anything. */
  | { readonly kind: 'scalar' | 'plain'; readonly bytes: 32 }
  | { readonly kind: 'number'; readonly bytes: 4 | 8 }
  /** A length of 8 bytes, then so many values. */
  | { readonly kind: 'list'; readonly of: RecordLayout; readonly count: number; readonly bytes: number }
  | { readonly kind: 'struct'; readonly fields: readonly RecordField[]; readonly bytes: number }
  /**
   * One variant of an enum: a tag of 4 bytes, then its value. In JSON an object with the variant's name as its only
   * key.
   */
  | {
      readonly kind: 'variant'
      readonly name: string
      readonly tag: number
      readonly of: RecordLayout
      readonly bytes: number
    }

export interface RecordField {
  readonly name: string
  readonly layout: RecordLayout
  /** From the start of the struct. */
  readonly offset: number
}

const LENGTH_BYTES = 8
const TAG_BYTES = 4

export const scalarLayout: RecordLayout = { kind: 'scalar', bytes: 32 }
export const plainLayout: RecordLayout = { kind: 'plain', bytes: 32 }
export const u32Layout: RecordLayout = { kind: 'number', bytes: 4 }
export const u64Layout: RecordLayout = { kind: 'number', bytes: 8 }

export function listLayout(of: RecordLayout, count: number): RecordLayout {
  return { kind: 'list', of, count, bytes: LENGTH_BYTES + count * of.bytes }
}

/** @param fields in the order of bincode */
export function structLayout(fields: Readonly<Record<string, RecordLayout>>): RecordLayout {
  let bytes = 0
  const placed = Object.entries(fields).map(([name, layout]) => {
    const offset = bytes
    bytes += layout.bytes
    return { name, layout, offset }
  })
  return { kind: 'struct', fields: placed, bytes }
}

export function variantLayout(name: string, tag: number, of: RecordLayout): RecordLayout {
  return { kind: 'variant', name, tag, of, bytes: TAG_BYTES + of.bytes }
}

/**
 * Where the value at `path` lies: names of fields and variants, numbers of list elements. @throws {Error} no such value
 */
export function offsetOf(layout: RecordLayout, ...path: readonly (string | number)[]): number {
  const [step, ...rest] = path
  if (step === undefined) return 0
  if (layout.kind === 'list' && typeof step === 'number' && step < layout.count) {
    return LENGTH_BYTES + step * layout.of.bytes + offsetOf(layout.of, ...rest)
  }
  if (layout.kind === 'variant' && step === layout.name) return TAG_BYTES + offsetOf(layout.of, ...rest)
  if (layout.kind === 'struct') {
    const field = layout.fields.find(({ name }) => name === step)
    if (field !== undefined) return field.offset + offsetOf(field.layout, ...rest)
  }
  throw new Error(`a ${layout.kind} has no ${String(step)}`)
}

/** Where in a record a reader is: names and numbers from the outside inwards. */
export class FieldPath {
  readonly steps: (string | number)[]

  constructor(...steps: readonly (string | number)[]) {
    this.steps = [...steps]
  }

  /** `a.b[3].c`. */
  toString(): string {
    return this.from(0)
  }

  /** The same without the first steps. */
  from(first: number): string {
    return this.steps
      .slice(first)
      .reduce<string>(
        (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
        '',
      )
  }
}

/** Makes the error for the value at `path`, to be thrown. */
export type RecordFault = (path: FieldPath, problem: string, expected: string, received: string) => Error

/**
 * Checks all of a record that needs no hash and no knowledge of what it means: lengths, tags, canonical scalars.
 * @param path of the record itself; unchanged on return
 */
export function inspectRecord(
  layout: RecordLayout,
  bytes: Uint8Array,
  at: number,
  path: FieldPath,
  fault: RecordFault,
): void {
  switch (layout.kind) {
    case 'scalar':
      if (isCanonicalScalar(bytes, at)) return
      throw fault(path, 'not a canonical field element', '32 bytes little-endian below r', scalarHex(bytes, at))
    case 'list': {
      const length = readU64(bytes, at)
      if (length !== BigInt(layout.count)) throw fault(path, 'a wrong length', String(layout.count), String(length))
      path.steps.push(0)
      for (let i = 0; i < layout.count; i++) {
        path.steps[path.steps.length - 1] = i
        inspectRecord(layout.of, bytes, at + LENGTH_BYTES + i * layout.of.bytes, path, fault)
      }
      path.steps.pop()
      return
    }
    case 'struct':
      path.steps.push('')
      for (const field of layout.fields) {
        path.steps[path.steps.length - 1] = field.name
        inspectRecord(field.layout, bytes, at + field.offset, path, fault)
      }
      path.steps.pop()
      return
    case 'variant': {
      const tag = readU32(bytes, at)
      if (tag !== layout.tag) {
        throw fault(path, 'the tree of another sector size', `${layout.name} (${layout.tag})`, String(tag))
      }
      path.steps.push(layout.name)
      inspectRecord(layout.of, bytes, at + TAG_BYTES, path, fault)
      path.steps.pop()
      return
    }
    case 'number':
    case 'plain':
  }
}

export function readU32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  )
}

export function readU64(bytes: Uint8Array, at: number): bigint {
  return BigInt(readU32(bytes, at)) | (BigInt(readU32(bytes, at + 4)) << 32n)
}

export function writeU32(bytes: Uint8Array, at: number, value: number): void {
  for (let i = 0; i < 4; i++) bytes[at + i] = value >>> (8 * i)
}

export function writeU64(bytes: Uint8Array, at: number, value: bigint): void {
  writeU32(bytes, at, Number(value & 0xffff_ffffn))
  writeU32(bytes, at + 4, Number(value >> 32n))
}
