/**
 * Digests of parameter files, and the memory of those that were checked before, so that 60 GB are not read at every start.
 *
 * A digest is the first 16 bytes of BLAKE2b-512 of the whole file, in hex, as in `parameters.json` of `filecoin-proofs`.
 */
import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { ReadRun } from './parameters-location.ts'

/** Bytes hashed at once: about 4 ms of the calling thread. */
const CHUNK_BYTES = 4 * 2 ** 20

export function bytesDigest(bytes: Uint8Array): string {
  return createHash('blake2b512').update(bytes).digest('hex').slice(0, 32)
}

/**
 * Reads a whole file and hashes it, yielding to other work after every chunk.
 * @throws `run.signal.reason` once the signal aborts
 */
export async function handleDigest(handle: FileHandle, run: ReadRun): Promise<string> {
  const hash = createHash('blake2b512')
  const { size } = await handle.stat()
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(size, 1)))
  for (let at = 0; ; ) {
    run.signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) break
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
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

/**
 * The file that remembers digests: in $XDG_CACHE_HOME, else in ~/.cache.
 * @throws the system's error if there is no home
 */
export function memoFile(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wgzk', 'digests.json')
}

/** Digest of a file, from the memo where path, size and modification time are those of an earlier reading. */
export async function fileDigest(path: string, run: ReadRun): Promise<string> {
  const key = resolve(path)
  const { size, mtimeNs } = await stat(path, { bigint: true })
  const known = (await readMemo())[key]
  if (known?.bytes === Number(size) && known.mtime === String(mtimeNs)) return known.digest
  const handle = await open(path)
  try {
    const digest = await handleDigest(handle, run)
    const after = await handle.stat({ bigint: true })
    // A file that was written to meanwhile has a digest of nothing in particular.
    if (after.size === size && after.mtimeNs === mtimeNs) {
      await remember(key, { bytes: Number(size), mtime: String(mtimeNs), digest })
    }
    return digest
  } finally {
    await handle.close()
  }
}

/** Remembers the digest of a file that was just written. */
export async function rememberDigest(path: string, digest: string): Promise<void> {
  const { size, mtimeNs } = await stat(path, { bigint: true })
  await remember(resolve(path), { bytes: Number(size), mtime: String(mtimeNs), digest })
}

async function readMemo(): Promise<Memo> {
  try {
    const { version, files } = JSON.parse(await readFile(memoFile(), 'utf8'))
    return version === MEMO_VERSION && typeof files === 'object' && files !== null ? files : {}
  } catch {
    // None yet, or not ours: digests are computed again.
    return {}
  }
}

/** Never fails: without a memo the next start only takes longer. */
async function remember(key: string, entry: MemoEntry): Promise<void> {
  let temporary: string | undefined
  try {
    // Throws where the user of the process has no home: a container that runs under any number.
    const file = memoFile()
    temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
    await mkdir(dirname(file), { recursive: true })
    const files = { ...(await readMemo()), [key]: entry }
    await writeFile(temporary, JSON.stringify({ version: MEMO_VERSION, files }, undefined, 1))
    // Renaming is atomic: another process sees the old file or the new one, and at worst one entry is lost.
    await rename(temporary, file)
  } catch {
    if (temporary !== undefined) await rm(temporary, { force: true }).catch(() => {})
  }
}
