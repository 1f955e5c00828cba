/**
 * The digest of a file that is being written, in a thread of its own: it takes longer than a fast disk, and a device
 * must not wait for it.
 */
import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'

/** Bytes read and hashed at once. */
const CHUNK_BYTES = 2 ** 20

const hash = createHash('blake2b512')
const buffer = new Uint8Array(CHUNK_BYTES)
let file: number | undefined
let at = 0

/** Hashes one file, in order. */
export const digestFunctions = {
  /** Hashes a file's bytes up to `end`, from where the last call ended. */
  follow({ path, end }: { readonly path: string; readonly end: number }): void {
    file ??= openSync(path, 'r')
    while (at < end) {
      const bytes = readSync(file, buffer, 0, Math.min(CHUNK_BYTES, end - at), at)
      if (bytes === 0) throw new Error(`${path} ends at byte ${at}`)
      hash.update(buffer.subarray(0, bytes))
      at += bytes
    }
  },

  /** First 16 bytes of BLAKE2b-512 of what was followed, in hex. */
  finish(): string {
    if (file !== undefined) closeSync(file)
    file = undefined
    return hash.digest('hex').slice(0, 32)
  },
}

/** For who calls them across the thread. */
export type DigestFunctions = typeof digestFunctions
