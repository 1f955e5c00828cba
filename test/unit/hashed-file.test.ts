/** A file that is written in any order, and hashed on the way. */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bytesDigest } from '../../src/params/digest.ts'
import { HashedFile } from '../../src/srs/hashed-file.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

let directory: string
let path: string
let handle: FileHandle
let file: HashedFile

beforeEach(async () => {
  directory = temporaryDirectory()
  path = join(directory, 'file')
  handle = await open(path, 'w+')
  file = new HashedFile(path, handle)
})
afterEach(async () => {
  await file.release()
  await handle.close()
  removeDirectory(directory)
})

const whole = async (): Promise<Buffer> => {
  const bytes = Buffer.alloc((await handle.stat()).size)
  await handle.read(bytes, 0, bytes.length, 0)
  return bytes
}

test('the digest is that of the whole, whatever the order of its parts', async () => {
  const bytes = randomBytes(5_000_001)
  const ends = [0, 4, 700_000, 700_001, 3_000_000, 5_000_001]
  const parts = ends.slice(1).map((end, k) => ({ first: ends[k] as number, bytes: bytes.subarray(ends[k], end) }))
  const write = (...which: number[]): Promise<unknown> =>
    Promise.all(parts.filter((_, k) => which.includes(k)).map((part) => file.write(part.first, part.bytes)))
  await write(3, 1)
  expect(file.bytes).toBe(0)
  await write(0)
  expect(file.bytes).toBe(700_000)
  await write(4, 2)
  expect(file.bytes).toBe(bytes.length)
  await file.room()
  expect(await file.digest()).toBe(bytesDigest(bytes))
  expect(Buffer.compare(await whole(), bytes)).toBe(0)
})

test('a file that can not be read has no digest, and says why', async () => {
  const lost = new HashedFile(join(directory, 'gone'), handle)
  await lost.write(0, randomBytes(1000))
  await expect(lost.digest()).rejects.toThrow(/ENOENT/)
  await lost.release()
})
