/** A file that is written part by part, in any order, and hashed on the way. */
import type { FileHandle } from 'node:fs/promises'
import { workerFile } from '../cpu/wasm-file.ts'
import { WorkerLink } from '../device/worker-link.ts'
import type { DigestFunctions } from './digest-functions.ts'

/**
 * How far writing may be ahead of the digest: what was written so shortly before is read from memory and not from the
 * disk.
 */
const AHEAD_BYTES = 2 ** 29

/** Writes parts as they come; a thread hashes what is whole from the file's beginning on. */
export class HashedFile {
  readonly #path: string
  readonly #handle: FileHandle
  readonly #digest: WorkerLink<DigestFunctions> = new WorkerLink(
    workerFile('srs/digest-worker.js'),
    'wgzk digest',
    undefined,
  )
  /** Where parts end that were written, by where they begin; those before {@link bytes} are not in it. */
  readonly #written = new Map<number, number>()
  #bytes = 0
  #hashed = 0
  #following: Promise<void> = Promise.resolve()

  /** @param handle stays the caller's */
  constructor(path: string, handle: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  /** Bytes from the file's beginning on that are all written. */
  get bytes(): number {
    return this.#bytes
  }

  /** Writes all of a part. No two parts overlap. */
  async write(position: number, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      at += (await this.#handle.write(bytes, at, bytes.length - at, position + at)).bytesWritten
    }
    this.#written.set(position, position + bytes.length)
    for (let end = this.#written.get(this.#bytes); end !== undefined; end = this.#written.get(this.#bytes)) {
      this.#written.delete(this.#bytes)
      this.#bytes = end
    }
    this.#follow()
  }

  #follow(): void {
    const end = this.#bytes
    this.#following = this.#following.then(async () => {
      if (end === this.#hashed) return
      await this.#digest.call('follow', { path: this.#path, end })
      this.#hashed = end
    })
    // Whoever waits for room, or for the digest, hears of it; until then it is not unhandled.
    this.#following.catch(() => {})
  }

  /**
   * Resolves when the digest is not far behind.
   * @throws what reading the file failed with
   */
  async room(): Promise<void> {
    while (this.#bytes - this.#hashed > AHEAD_BYTES) await this.#following
  }

  /** First 16 bytes of the BLAKE2b-512 of {@link bytes}, in hex. */
  async digest(): Promise<string> {
    await this.#following
    return await this.#digest.call('finish', undefined as never)
  }

  /** Ends the thread. The file is the caller's to close. */
  async release(): Promise<void> {
    await this.#digest.terminate()
  }
}
