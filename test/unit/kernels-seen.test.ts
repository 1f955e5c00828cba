import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { kernelsSeen, rememberKernels } from '../../src/webgpu/kernels-seen.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

let directory: string

beforeEach(() => {
  directory = temporaryDirectory()
  vi.stubEnv('XDG_CACHE_HOME', join(directory, 'cache'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  removeDirectory(directory)
})

test('kernels are known to have been compiled for an adapter once that was remembered, and for no other', async () => {
  expect(await kernelsSeen('a card')).toBe(false)
  await rememberKernels('a card')
  expect(await kernelsSeen('a card')).toBe(true)
  expect(await kernelsSeen('another card')).toBe(false)
})

test('a folder that can not be written to is done without', async () => {
  const file = join(directory, 'file')
  writeFileSync(file, '')
  vi.stubEnv('XDG_CACHE_HOME', file)
  await rememberKernels('a card')
  expect(await kernelsSeen('a card')).toBe(false)
})
