/**
 * JSON read byte by byte into records: for files of tens of megabytes that are nearly all arrays of small numbers,
 * where `JSON.parse` would make an object of each.
 *
 * As tolerant as serde is with derived types: any order of keys, unknown keys, any white space; a missing or repeated
 * key, a number out of range or with a fraction, and anything after the end are refused. The content of unknown keys is
 * skipped unread.
 */
import { type FieldPath, type RecordFault, type RecordLayout, writeU32, writeU64 } from './records.ts'

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]
const [ZERO, MINUS] = [0x30, 0x2d]
const SPACES = [0x20, 0x0a, 0x0d, 0x09]

/** A key longer than this is no key of ours: it is skipped without being made a string. */
const MAX_STRING_BYTES = 256

export class JsonRecordReader {
  readonly path: FieldPath
  readonly #bytes: Uint8Array
  readonly #fault: RecordFault
  #at: number

  /**
   * @param bytes UTF-8, from `at` on
   * @param fault makes the errors that are thrown
   */
  constructor(bytes: Uint8Array, path: FieldPath, fault: RecordFault, at: number = 0) {
    this.#bytes = bytes
    this.path = path
    this.#fault = fault
    this.#at = at
  }

  /** Nothing but white space may follow. */
  end(): void {
    this.#skipSpace()
    if (this.#at < this.#bytes.length) throw this.#unexpected('the end')
  }

  /**
   * Reads an object whose keys may come in any order.
   * @param fields what to do at the value of each key; every one must come, once
   */
  object(fields: Readonly<Record<string, () => void>>): void {
    const names = Object.keys(fields)
    const seen = new Set<string>()
    const { steps } = this.path
    this.#expect(OPEN_BRACE, 'an object')
    steps.push('')
    if (!this.#accept(CLOSE_BRACE)) {
      do {
        const key = this.string()
        this.#expect(COLON, 'a colon')
        steps[steps.length - 1] = key
        if (!Object.hasOwn(fields, key)) {
          this.skipValue()
          continue
        }
        if (seen.has(key)) throw this.#fault(this.path, 'a key that came before', 'each key once', key)
        seen.add(key)
        ;(fields[key] as () => void)()
      } while (this.#accept(COMMA))
      steps[steps.length - 1] = '}'
      this.#expect(CLOSE_BRACE, 'a comma or the end of the object')
    }
    const missing = names.find((name) => !seen.has(name))
    if (missing !== undefined) {
      steps[steps.length - 1] = missing
      throw this.#fault(this.path, 'missing', `a key ${missing}`, 'none')
    }
    steps.pop()
  }

  /** The first of an object's keys that is among `names`; what comes after it stays unread. */
  firstKnownKey(names: readonly string[]): string | undefined {
    this.#expect(OPEN_BRACE, 'an object')
    if (this.#accept(CLOSE_BRACE)) return undefined
    do {
      const key = this.string()
      this.#expect(COLON, 'a colon')
      if (names.includes(key)) return key
      this.skipValue()
    } while (this.#accept(COMMA))
    return undefined
  }

  /**
   * Reads an array of a known length.
   * @param element is called at each element with its number
   */
  array(count: number, element: (index: number) => void): void {
    const { steps } = this.path
    this.#expect(OPEN_BRACKET, 'an array')
    let length = 0
    if (!this.#accept(CLOSE_BRACKET)) {
      steps.push(0)
      do {
        if (length === count) {
          steps.pop()
          throw this.#fault(this.path, 'a wrong length', String(count), 'more')
        }
        steps[steps.length - 1] = length
        element(length)
        length++
      } while (this.#accept(COMMA))
      this.#expect(CLOSE_BRACKET, 'a comma or the end of the array')
      steps.pop()
    }
    if (length !== count) throw this.#fault(this.path, 'a wrong length', String(count), String(length))
  }

  /** Reads a value of a known form into its record at `out[at]`. Scalars are not checked for being canonical. */
  value(layout: RecordLayout, out: Uint8Array, at: number): void {
    switch (layout.kind) {
      case 'scalar':
      case 'plain':
        this.#bytes32(out, at)
        return
      case 'number': {
        const value = this.number(layout.bytes)
        if (layout.bytes === 4) writeU32(out, at, Number(value))
        else writeU64(out, at, value)
        return
      }
      case 'list':
        writeU64(out, at, BigInt(layout.count))
        this.array(layout.count, (i) => this.value(layout.of, out, at + 8 + i * layout.of.bytes))
        return
      case 'struct':
        this.#struct(layout, out, at)
        return
      case 'variant':
        writeU32(out, at, layout.tag)
        this.onlyKey(layout.name, () => {
          this.path.steps.push(layout.name)
          this.value(layout.of, out, at + 4)
          this.path.steps.pop()
        })
    }
  }

  /** An object with one key, the name of an enum's variant; it becomes no part of the path. */
  onlyKey(name: string, value: () => void): void {
    this.#expect(OPEN_BRACE, 'an object with one key')
    const key = this.string()
    if (key !== name) throw this.#fault(this.path, 'another variant', name, key)
    this.#expect(COLON, 'a colon')
    value()
    this.#expect(CLOSE_BRACE, `the end of the object after its only key ${name}`)
  }

  /**
   * {@link object} for the fields of a layout, without a function a field: it runs some hundred thousand times a file.
   */
  #struct(layout: RecordLayout & { kind: 'struct' }, out: Uint8Array, at: number): void {
    const { fields } = layout
    const { steps } = this.path
    this.#expect(OPEN_BRACE, 'an object')
    steps.push('')
    let seen = 0
    let next = 0
    if (!this.#accept(CLOSE_BRACE)) {
      do {
        const key = this.string()
        this.#expect(COLON, 'a colon')
        steps[steps.length - 1] = key
        // Nearly always the fields come in order.
        let index = next
        if (fields[index]?.name !== key) index = fields.findIndex(({ name }) => name === key)
        const field = fields[index]
        if (field === undefined) {
          this.skipValue()
          continue
        }
        if ((seen >>> index) & 1) throw this.#fault(this.path, 'a key that came before', 'each key once', key)
        seen |= 1 << index
        next = index + 1
        this.value(field.layout, out, at + field.offset)
      } while (this.#accept(COMMA))
      steps[steps.length - 1] = '}'
      this.#expect(CLOSE_BRACE, 'a comma or the end of the object')
    }
    const missing = fields.find((_, i) => ((seen >>> i) & 1) === 0)
    if (missing !== undefined) {
      steps[steps.length - 1] = missing.name
      throw this.#fault(this.path, 'missing', `a key ${missing.name}`, 'none')
    }
    steps.pop()
  }

  /** 32 numbers below 256. */
  #bytes32(out: Uint8Array, at: number): void {
    this.#expect(OPEN_BRACKET, 'an array of 32 numbers')
    const bytes = this.#bytes
    // Reading past the end gives NaN here, which no comparison holds for.
    let pos = this.#at
    for (let i = 0; i < 32; i++) {
      let value = (bytes[pos] as number) - ZERO
      if (!(value >= 0 && value <= 9)) {
        this.#at = pos
        this.#skipSpace()
        pos = this.#at
        value = (bytes[pos] as number) - ZERO
        if (!(value >= 0 && value <= 9)) throw this.#wrongBytes(i)
      }
      let digit = (bytes[++pos] as number) - ZERO
      while (digit >= 0 && digit <= 9) {
        // No leading zeros, and no overflow however long the number is.
        if (value === 0 || value > 255) break
        value = 10 * value + digit
        digit = (bytes[++pos] as number) - ZERO
      }
      this.#at = pos
      if (value > 255 || (digit >= 0 && digit <= 9)) {
        throw this.#fault(this.path, `number ${i} is not a byte`, '32 numbers from 0 to 255', this.#excerpt())
      }
      out[at + i] = value
      if (i === 31) break
      if (bytes[pos] !== COMMA) {
        this.#skipSpace()
        pos = this.#at
        if (bytes[pos] !== COMMA) throw this.#wrongBytes(i + 1)
      }
      pos++
    }
    if (!this.#accept(CLOSE_BRACKET)) throw this.#wrongBytes(32)
  }

  #wrongBytes(read: number): Error {
    return this.#fault(this.path, `after ${read} numbers`, '32 numbers from 0 to 255', this.#excerpt())
  }

  /** A whole number that fits into so many bytes. */
  number(byteLength: 4 | 8): bigint {
    this.#skipSpace()
    const start = this.#at
    while (isDigit(this.#bytes[this.#at])) this.#at++
    const length = this.#at - start
    const next = this.#bytes[this.#at]
    const whole = length > 0 && next !== 0x2e && next !== 0x65 && next !== 0x45
    const leadingZero = length > 1 && this.#bytes[start] === ZERO
    // 2^64 has 20 digits.
    const value = whole && !leadingZero && length <= 20 ? BigInt(this.#text(start, this.#at)) : undefined
    if (value === undefined || value >= 1n << BigInt(8 * byteLength)) {
      this.#at = start
      throw this.#unexpected(`a whole number below 2^${8 * byteLength}`)
    }
    return value
  }

  /** A short string without escapes; any other becomes one that equals no key. */
  string(): string {
    const [start, end] = this.stringRange()
    if (end - start > MAX_STRING_BYTES) return `${this.#text(start, start + MAX_STRING_BYTES)}...`
    return this.#text(start, end)
  }

  /** Where a string's content begins and ends, escapes as they are. */
  stringRange(): [number, number] {
    this.#expect(QUOTE, 'a string')
    const start = this.#at
    let end = start
    for (;;) {
      end = this.#bytes.indexOf(QUOTE, end)
      if (end < 0) {
        this.#at = this.#bytes.length
        throw this.#unexpected('the end of a string')
      }
      let before = end
      while (before > start && this.#bytes[before - 1] === BACKSLASH) before--
      // An odd number of backslashes escapes the quotation mark.
      if ((end - before) % 2 === 0) break
      end++
    }
    this.#at = end + 1
    return [start, end]
  }

  /** Skips a value of any kind. Of what is between brackets only strings and nesting are looked at. */
  skipValue(): void {
    this.#skipSpace()
    const bytes = this.#bytes
    let depth = 0
    do {
      const byte = bytes[this.#at]
      if (byte === QUOTE) {
        this.stringRange()
        continue
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if (depth === 0) {
        this.#skipWord()
        return
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
      else if (byte === undefined) throw this.#unexpected('the end of a value')
      this.#at++
    } while (depth > 0)
  }

  /** A number, true, false or null. */
  #skipWord(): void {
    const start = this.#at
    for (;;) {
      const byte = this.#bytes[this.#at]
      const letter = byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a
      if (!letter && !isDigit(byte) && byte !== MINUS && byte !== 0x2b && byte !== 0x2e) break
      this.#at++
    }
    if (this.#at === start) throw this.#unexpected('a value')
  }

  #expect(byte: number, what: string): void {
    if (!this.#accept(byte)) throw this.#unexpected(what)
  }

  #accept(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) {
      this.#skipSpace()
      if (this.#bytes[this.#at] !== byte) return false
    }
    this.#at++
    return true
  }

  #skipSpace(): void {
    while (SPACES.includes(this.#bytes[this.#at] as number)) this.#at++
  }

  #unexpected(what: string): Error {
    return this.#fault(this.path, `unexpected JSON at byte ${this.#at}`, what, this.#excerpt())
  }

  #excerpt(): string {
    if (this.#at >= this.#bytes.length) return 'the end of the input'
    return JSON.stringify(this.#text(this.#at, this.#at + 16))
  }

  #text(start: number, end: number): string {
    const part = this.#bytes.subarray(start, end)
    return Buffer.from(part.buffer, part.byteOffset, part.length).toString('latin1')
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= ZERO + 9
}
