import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { putInPlace, removeAbandonedFiles, setupSuffix, temporaryFiles } from '../../src/srs/files-in-the-making.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const MINUTE_S = 60

let directory: string
beforeEach(() => {
  directory = temporaryDirectory()
})
afterEach(() => removeDirectory(directory))

const filesThere = () => ({
  paramsFile: join(directory, 'dev-wpost-2k.params'),
  vkFile: join(directory, 'dev-wpost-2k.vk'),
  markerFile: join(directory, 'dev-wpost-2k.json'),
})

/** Lays files there, each last written so many seconds ago, and tidies up after others. */
async function remaining(ages: Readonly<Record<string, number>>): Promise<string[]> {
  const now = Date.now() / 1_000
  for (const [name, age] of Object.entries(ages)) {
    const path = join(directory, name)
    writeFileSync(path, 'x')
    utimesSync(path, now - age, now - age)
  }
  const files = filesThere()
  await removeAbandonedFiles(files, temporaryFiles(files, await setupSuffix()))
  return readdirSync(directory).sort()
}

/** A set-up's suffix of this place and a process that has ended. */
async function ofGoneProcess(): Promise<string> {
  const { pid } = spawnSync(process.execPath, ['--version'])
  return (await setupSuffix()).replace(`-${process.pid}-`, `-${pid}-`)
}

it('removes what a killed set-up left, and nothing else', async () => {
  const [own, gone] = [await setupSuffix(), await ofGoneProcess()]
  const day = 24 * 60 * MINUTE_S
  const kept = {
    'dev-wpost-2k.params': day,
    [`dev-wpost-2k.params.${own}.tmp`]: day,
    'dev-wpost-2k.params.note.tmp': day,
    [`dev-winning-2k.params.${gone}.tmp`]: day,
  }
  const abandoned = {
    [`dev-wpost-2k.params.${gone}.tmp`]: 0,
    [`dev-wpost-2k.vk.${gone}.tmp`]: 0,
  }
  expect(await remaining({ ...kept, ...abandoned })).toEqual(Object.keys(kept).sort())
})

it('leaves what another host or container of the same folder makes, whether or not its process id is known here', async () => {
  const elsewhere = (suffix: string): string => suffix.replace(/^[0-9a-f]{16}/, '00112233445566aa')
  const [sameId, noSuchId] = [elsewhere(await setupSuffix()), elsewhere(await ofGoneProcess())]
  const beingMade = {
    [`dev-wpost-2k.params.${sameId}.tmp`]: 50 * MINUTE_S,
    [`dev-wpost-2k.params.${noSuchId}.tmp`]: 50 * MINUTE_S,
  }
  const silent = {
    [`dev-wpost-2k.vk.${sameId}.tmp`]: 70 * MINUTE_S,
    [`dev-wpost-2k.json.${noSuchId}.tmp`]: 70 * MINUTE_S,
  }
  expect(await remaining({ ...beingMade, ...silent })).toEqual(Object.keys(beingMade).sort())
})

it('set-ups that end at the same time take turns with their files, but not for ever', async () => {
  const files = filesThere()
  const turn = `${files.markerFile}.turn`
  const made = (name: string) => {
    const temporary = temporaryFiles(files, name)
    for (const file of Object.values(temporary)) writeFileSync(file, name)
    return temporary
  }
  const there = () => Object.values(files).map((file) => readFileSync(file, 'utf8'))
  writeFileSync(turn, '')
  const waiting = putInPlace(made('a'), files)
  await delay(50)
  expect(readdirSync(directory)).not.toContain('dev-wpost-2k.vk')
  rmSync(turn)
  await waiting
  expect(there()).toEqual(['a', 'a', 'a'])

  // Of one that was killed.
  writeFileSync(turn, '')
  await putInPlace(made('b'), files, 20)
  expect(there()).toEqual(['b', 'b', 'b'])
  expect(readdirSync(directory)).toHaveLength(3)

  await Promise.all(['c', 'd', 'e'].map((name) => putInPlace(made(name), files)))
  expect(new Set(there()).size).toBe(1)
})
