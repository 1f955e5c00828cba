import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { removeAbandonedFiles } from '../../src/srs/make-development-parameters.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

let directory: string
beforeEach(() => {
  directory = temporaryDirectory()
})
afterEach(() => removeDirectory(directory))

it('removes what a killed set-up left, and nothing else', async () => {
  const { pid: gone } = spawnSync(process.execPath, ['--version'])
  const kept = [
    'dev-wpost-2k.params',
    `dev-wpost-2k.params.${process.pid}-0a1b.tmp`,
    'dev-wpost-2k.params.note.tmp',
    `dev-winning-2k.params.${gone}-0a1b.tmp`,
  ]
  const abandoned = [`dev-wpost-2k.params.${gone}-0a1b.tmp`, `dev-wpost-2k.vk.${gone}-ff.tmp`]
  for (const name of [...kept, ...abandoned]) writeFileSync(join(directory, name), 'x')
  await removeAbandonedFiles({
    paramsFile: join(directory, 'dev-wpost-2k.params'),
    vkFile: join(directory, 'dev-wpost-2k.vk'),
    markerFile: join(directory, 'dev-wpost-2k.json'),
  })
  expect(readdirSync(directory).sort()).toEqual([...kept].sort())
})
