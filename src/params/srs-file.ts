/**
 * Parameters in a file, read in place by ranges.
 *
 * Opening checks what can be checked without reading points: size, the length field of every section, and that the head
 * of the `.params` file is the `.vk` file. Then the key's digest (it is small), and the digest of the whole, from
 * memory where it was checked before. Points are checked when a device imports them.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { CircuitShape } from '../circuit/shape.ts'
import { ProverError, SrsUnavailableError } from '../errors.ts'
import { shapeFingerprint } from './development-marker.ts'
import { bytesDigest, fileDigest } from './digest.ts'
import { type ParamsLayout, paramsLayout, QUERIES, type Query } from './layout.ts'
import type { ParametersLocation, ReadRun } from './parameters-location.ts'
import type { SrsSource } from './srs-source.ts'
import { parseVerifyingKey, type VerifyingKey } from './verifying-key.ts'
import { answered, closeFile } from './waiting.ts'

/** What identifies the content of an open file. */
interface Identity {
  readonly size: bigint
  readonly mtimeNs: bigint
}

/** An open `.params` file. */
export class SrsFile implements SrsSource {
  readonly name: string
  readonly layout: ParamsLayout
  readonly key: VerifyingKey
  readonly development: boolean
  readonly #handle: FileHandle
  readonly #identity: Identity
  readonly #answerMs: number | undefined
  #closed: Promise<void> | undefined

  private constructor(
    located: ParametersLocation,
    layout: ParamsLayout,
    key: VerifyingKey,
    handle: FileHandle,
    identity: Identity,
    answerMs: number | undefined,
  ) {
    this.name = located.paramsFile
    this.development = located.development
    this.layout = layout
    this.key = key
    this.#handle = handle
    this.#identity = identity
    this.#answerMs = answerMs
  }

  /**
   * Opens and checks parameters. `run` gets the progress of hashing, if that has to be done.
   * @throws {SrsUnavailableError} a file is missing, truncated, of another circuit, has a wrong digest, or does not
   *   answer
   * @throws `run.signal.reason` once the signal aborts
   */
  static async open(located: ParametersLocation, shape: CircuitShape, run: ReadRun): Promise<SrsFile> {
    run.signal.throwIfAborted()
    const file = located.paramsFile
    checkFingerprint(located, shape)
    const layout = paramsLayout(shape)
    const { signal, answerMs: limitMs } = run
    const wait: Wait = { signal, limitMs }
    const vkBytes = await readVerifyingKeyFile(located, wait)
    const handle = await openFile(file, wait)
    try {
      const { size, mtimeNs } = await answered(file, handle.stat({ bigint: true }), { signal, limitMs })
      await checkStructure(handle, file, Number(size), layout, vkBytes, located.vkFile, wait)
      const key = parseVerifyingKey(vkBytes, { file: located.vkFile, inputs: shape.inputs, trusted: true })
      const digest = await fileDigest(file, run)
      if (digest !== located.paramsDigest) throw wrongDigest(file, located.paramsDigest, digest)
      const source = new SrsFile(located, layout, key, handle, { size, mtimeNs }, limitMs)
      await source.#checkUnchanged()
      return source
    } catch (error) {
      await closeFile(handle)
      throw error
    }
  }

  async readInto(query: Query, first: number, target: Uint8Array): Promise<void> {
    const { offset, pointBytes, points } = this.layout.queries[query]
    const count = target.byteLength / pointBytes
    if (!Number.isInteger(count) || first < 0 || first + count > points) {
      throw new RangeError(`points ${first} to ${first + count} of ${points} in ${query}`)
    }
    await readFully(this.#handle, this.name, offset + first * pointBytes, target)
    // After reading: what was changed before or while we read is seen.
    await this.#checkUnchanged()
  }

  async #checkUnchanged(): Promise<void> {
    const looking = this.#handle.stat({ bigint: true })
    const { size, mtimeNs, nlink } = await answered(this.name, looking, { limitMs: this.#answerMs })
    const fail = (received: string): SrsUnavailableError =>
      new SrsUnavailableError(`parameters ${this.name}: ${received} while in use`, {
        details: { file: this.name, expected: 'an unchanged file', received },
      })
    if (nlink === 0n) throw fail('removed or replaced')
    if (size !== this.#identity.size) throw fail(`${size} bytes instead of ${this.#identity.size}`)
    if (mtimeNs !== this.#identity.mtimeNs) throw fail('written to')
  }

  close(): Promise<void> {
    this.#closed ??= closeFile(this.#handle)
    return this.#closed
  }
}

/**
 * Reads a verifying key alone, for verification: digest, lengths, points on the curve.
 * @param inputs public inputs of the circuit, ONE included, where they are known
 * @throws {SrsUnavailableError}
 * @throws `signal.reason` once the signal aborts
 */
export async function openVerifyingKey(
  located: ParametersLocation,
  inputs?: number,
  signal?: AbortSignal,
): Promise<VerifyingKey> {
  const bytes = await readVerifyingKeyFile(located, { signal })
  return parseVerifyingKey(bytes, { file: located.vkFile, inputs, trusted: true })
}

/** How long to wait for each call to the file system. */
interface Wait {
  readonly signal?: AbortSignal | undefined
  readonly limitMs?: number | undefined
}

async function readVerifyingKeyFile(located: ParametersLocation, wait: Wait): Promise<Uint8Array> {
  const { vkFile, vkDigest, made } = located
  const handle = await openFile(vkFile, wait)
  try {
    const bytes = new Uint8Array(await answered(vkFile, handle.readFile(), wait))
    const digest = bytesDigest(bytes)
    if (made === undefined && digest !== vkDigest) {
      // An empty file has a digest too, but its length says more.
      if (bytes.length === 0) throw wrongSize(vkFile, undefined, 0)
      throw wrongDigest(vkFile, vkDigest, digest)
    }
    return bytes
  } finally {
    await closeFile(handle)
  }
}

async function openFile(file: string, wait: Wait): Promise<FileHandle> {
  try {
    return await answered(file, open(file, constants.O_RDONLY), { ...wait, late: closeFile })
  } catch (cause) {
    if (ProverError.is(cause) || wait.signal?.aborted) throw cause
    const received = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'no file' : String((cause as Error).message)
    throw new SrsUnavailableError(`parameters ${file}: ${received}`, {
      details: { file, expected: 'a readable file', received },
      cause,
    })
  }
}

async function checkStructure(
  handle: FileHandle,
  file: string,
  size: number,
  layout: ParamsLayout,
  vkBytes: Uint8Array,
  vkFile: string,
  wait: Wait,
): Promise<void> {
  if (vkBytes.length !== layout.vkBytes) throw wrongSize(vkFile, layout.vkBytes, vkBytes.length)
  if (size !== layout.fileBytes) throw wrongSize(file, layout.fileBytes, size)
  const head = await readFully(handle, file, 0, new Uint8Array(layout.vkBytes), wait)
  if (Buffer.compare(head, vkBytes) !== 0) {
    throw new SrsUnavailableError(`parameters ${file}: begin with another verifying key than ${vkFile}`, {
      details: { file, expected: `the ${layout.vkBytes} bytes of ${vkFile}`, received: 'another verifying key' },
    })
  }
  for (const query of QUERIES) {
    const { offset, points } = layout.queries[query]
    const field = await readFully(handle, file, offset - 4, new Uint8Array(4), wait)
    const length = new DataView(field.buffer).getUint32(0, false)
    if (length !== points) {
      throw new SrsUnavailableError(`parameters ${file}: section ${query} has ${length} points instead of ${points}`, {
        details: { file, expected: `${query}: ${points} points`, received: `${query}: ${length} points` },
      })
    }
  }
}

/** Fills the whole target from a position of the file. */
async function readFully(
  handle: FileHandle,
  file: string,
  position: number,
  target: Uint8Array,
  wait?: Wait,
): Promise<Uint8Array> {
  const { byteLength } = target
  for (let at = 0; at < byteLength; ) {
    const reading = handle.read(target, at, byteLength - at, position + at)
    const { bytesRead } = await (wait === undefined ? reading : answered(file, reading, wait))
    if (bytesRead === 0) {
      throw new SrsUnavailableError(`parameters ${file}: end at byte ${position + at}`, {
        details: { file, expected: `at least ${position + byteLength} bytes`, received: `${position + at} bytes` },
      })
    }
    at += bytesRead
  }
  return target
}

function checkFingerprint(
  { circuitFingerprint, paramsFile, circuitId }: ParametersLocation,
  shape: CircuitShape,
): void {
  if (circuitFingerprint === undefined) return
  const fingerprint = shapeFingerprint(shape)
  if (fingerprint === circuitFingerprint) return
  throw new SrsUnavailableError(
    `development parameters ${paramsFile} were made for another version of circuit ${circuitId}: make them anew`,
    { details: { file: paramsFile, expected: `circuit ${fingerprint}`, received: `circuit ${circuitFingerprint}` } },
  )
}

function wrongSize(file: string, expected: number | undefined, received: number): SrsUnavailableError {
  const what = received === 0 ? 'empty' : expected !== undefined && received < expected ? 'truncated' : 'of wrong size'
  return new SrsUnavailableError(`parameters ${file}: ${what}`, {
    details: {
      file,
      expected: expected === undefined ? 'a verifying key' : `${expected} bytes`,
      received: `${received} bytes`,
    },
  })
}

function wrongDigest(file: string, expected: string, received: string): SrsUnavailableError {
  return new SrsUnavailableError(`parameters ${file}: wrong digest; the file is damaged or not the published one`, {
    details: { file, expected, received },
  })
}
