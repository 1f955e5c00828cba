/**
 * Digests of parameter files, and the memory of those that were checked before, so that 60 GB are not read at every
 * start.
 *
 * A digest is the first 16 bytes of BLAKE2b-512 of the whole file, in hex, as in `parameters.json` of
 * `filecoin-proofs`.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { asError } from '../errors.ts'
import { cacheFolder } from './cache-folder.ts'
import type { ReadRun } from './parameters-location.ts'
import { replaceFile } from './replace-file.ts'
import { answered, closeFile, orAborted } from './waiting.ts'

/** Bytes hashed at once, twice as many are held: about 4 ms of the calling thread. */
const CHUNK_BYTES = 4 * 2 ** 20

/** Digest of bytes at hand. */
export function bytesDigest(bytes: Uint8Array): string {
  return createHash('blake2b512').update(bytes).digest('hex').slice(0, 32)
}

/**
 * Reads a whole file and hashes it, yielding to other work after every chunk.
 * @param file its path, for errors
 * @throws {SrsUnavailableError} the file does not answer
 * @throws `run.signal.reason` once the signal aborts
 */
export async function handleDigest(handle: FileHandle, file: string, run: ReadRun): Promise<string> {
  const hash = createHash('blake2b512')
  const { size } = await answered(file, handle.stat(), { signal: run.signal, limitMs: run.answerMs })
  const length = Math.min(CHUNK_BYTES, Math.max(size, 1))
  const buffers = [new Uint8Array(length), new Uint8Array(length)] as const
  const read = (k: 0 | 1, at: number): Promise<{ readonly bytesRead: number }> => {
    const reading = handle.read(buffers[k], 0, length, at)
    const answer = answered(file, reading, { signal: run.signal, limitMs: run.answerMs })
    // Nobody waits for it where hashing was stopped.
    answer.catch(() => {})
    return answer
  }
  let reading = read(0, 0)
  for (let k: 0 | 1 = 0, at = 0; ; k = k === 0 ? 1 : 0) {
    run.signal.throwIfAborted()
    const { bytesRead } = await reading
    if (bytesRead === 0) break
    at += bytesRead
    // The next part is read while this one is hashed.
    reading = read(k === 0 ? 1 : 0, at)
    hash.update(buffers[k].subarray(0, bytesRead))
    run.unit(Math.min(1, at / size))
  }
  return hash.digest('hex').slice(0, 32)
}

interface MemoEntry {
  readonly bytes: number
  /** Nanoseconds, decimal. */
  readonly mtime: string
  readonly digest: string
}

type Memo = Record<string, MemoEntry>

const MEMO_VERSION = 1

/** How long to wait for the memo, and for a file that it names: it saves time, or it is not worth waiting for. */
const MEMO_LIMIT_MS = 5_000

/** What remembering reports to. */
type MemoRun = Pick<ReadRun, 'note' | 'answerMs'>

/**
 * The file that remembers digests.
 * @throws the system's error if there is no home
 */
export function memoFile(): string {
  return join(cacheFolder(), 'digests.json')
}

/**
 * Digest of a file, from the memo where path, size and modification time are those of an earlier reading.
 * @throws the system's error; {@link SrsUnavailableError} if the file does not answer
 * @throws `run.signal.reason` once the signal aborts
 */
export async function fileDigest(path: string, run: ReadRun): Promise<string> {
  const key = resolve(path)
  const { signal, answerMs: limitMs } = run
  const { size, mtimeNs } = await answered(path, stat(path, { bigint: true }), { signal, limitMs })
  const known = (await orAborted(readMemo(memoLimit(run)), signal))[key]
  if (known?.bytes === Number(size) && known.mtime === String(mtimeNs)) return known.digest
  return freshDigest(path, run)
}

/**
 * Digest of a file, read anew whatever the memo says, and remembered.
 * @throws the system's error; {@link SrsUnavailableError} if the file does not answer
 * @throws `run.signal.reason` once the signal aborts
 */
export async function freshDigest(path: string, run: ReadRun): Promise<string> {
  const { signal, answerMs: limitMs } = run
  const handle = await answered(path, open(path), { signal, limitMs, late: closeFile })
  try {
    const { size, mtimeNs } = await answered(path, handle.stat({ bigint: true }), { signal, limitMs })
    const digest = await handleDigest(handle, path, run)
    const after = await answered(path, handle.stat({ bigint: true }), { signal, limitMs })
    // A file that was written to meanwhile has a digest of nothing in particular.
    if (after.size === size && after.mtimeNs === mtimeNs) {
      await remember(resolve(path), { bytes: Number(size), mtime: String(mtimeNs), digest }, run)
    }
    return digest
  } finally {
    await closeFile(handle)
  }
}

/** Remembers the digest of a file that was just written. */
export async function rememberDigest(path: string, digest: string, run: MemoRun = {}): Promise<void> {
  const { size, mtimeNs } = await stat(path, { bigint: true })
  await remember(resolve(path), { bytes: Number(size), mtime: String(mtimeNs), digest }, run)
}

const memoLimit = ({ answerMs = MEMO_LIMIT_MS }: MemoRun): number => Math.min(answerMs, MEMO_LIMIT_MS)

async function readMemo(limitMs: number): Promise<Memo> {
  try {
    const file = memoFile()
    const { version, files } = JSON.parse(await answered(file, readFile(file, 'utf8'), { limitMs }))
    return version === MEMO_VERSION && typeof files === 'object' && files !== null ? files : {}
  } catch {
    // None yet, or not ours: digests are computed again.
    return {}
  }
}

/** Never fails: without a memo the next start only takes longer. */
async function remember(key: string, entry: MemoEntry, run: MemoRun): Promise<void> {
  const limitMs = memoLimit(run)
  try {
    // Throws where the user of the process has no home: a container that runs under any number.
    const file = memoFile()
    const kept = await present(await readMemo(limitMs), limitMs)
    // At worst another process's entry is lost.
    const memo = JSON.stringify({ version: MEMO_VERSION, files: { ...kept, [key]: entry } }, undefined, 1)
    await answered(file, replaceFile(file, memo), { limitMs })
  } catch (error) {
    run.note?.(`the digest of ${key} can't be remembered, and is computed again next time: ${asError(error).message}`)
  }
}

/** Entries of files that are still there: those of others would pile up for ever. */
async function present(memo: Memo, limitMs: number): Promise<Memo> {
  const gone = async (path: string): Promise<boolean> => {
    try {
      await answered(path, stat(path), { limitMs })
      return false
    } catch (error) {
      // What does not answer, or may not be looked at now, may be back tomorrow.
      return (error as NodeJS.ErrnoException).code === 'ENOENT'
    }
  }
  const entries = await Promise.all(Object.entries(memo).map(async (entry) => ((await gone(entry[0])) ? [] : [entry])))
  return Object.fromEntries(entries.flat())
}
