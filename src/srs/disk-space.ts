/**
 * Room on a disk: looked for before something large is written, and told of by its file when it runs out all the same.
 */
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { asError, SrsUnavailableError } from '../errors.ts'

/** No space, no quota, a limit of the process on the size of files. */
const NO_ROOM = ['ENOSPC', 'EDQUOT', 'EFBIG']

/**
 * Looks for room for a file that is about to be written. Where the system does not say, there is.
 * @param look a test seam: asks the file system of a folder
 * @throws {SrsUnavailableError} naming the file and the bytes
 */
export async function requireSpace(
  file: string,
  bytes: number,
  look: (folder: string) => Promise<{ bavail: number; bsize: number; blocks: number }> = statfs,
): Promise<void> {
  const found = await look(dirname(file)).catch(() => undefined)
  // A file system without blocks does not count them.
  if (found === undefined || found.blocks === 0) return
  const free = found.bavail * found.bsize
  if (free < bytes) throw noRoom(file, bytes, `${free} bytes are free`)
}

/**
 * Runs what writes a file.
 * @throws {SrsUnavailableError} naming the file and the bytes, if there is no room for it
 */
export async function withinSpace<T>(file: string, bytes: number, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (cause) {
    if (!NO_ROOM.includes(String((cause as NodeJS.ErrnoException).code))) throw cause
    throw noRoom(file, bytes, asError(cause).message, cause)
  }
}

function noRoom(file: string, bytes: number, received: string, cause?: unknown): SrsUnavailableError {
  return new SrsUnavailableError(`${file}: no room for its ${bytes} bytes: ${received}`, {
    details: { file, expected: `room for ${bytes} bytes`, received },
    cause,
  })
}
