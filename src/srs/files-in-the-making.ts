/**
 * Files of a set-up that are not whole yet: how they are named, and which of them nobody makes any more.
 *
 * The folder may be shared, by containers and by hosts, so a process' id alone says nothing: two of them have the same,
 * and none can look up another's. The name therefore also says where that id holds. Set-ups of the same place are
 * judged by their process; those of others by the time of their last write, which the clock of the file system gives,
 * theirs and ours.
 */
import { createHash, randomBytes } from 'node:crypto'
import { open, readdir, readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { rememberDigest } from '../params/digest.ts'

/** Paths of what a set-up writes. Survives structured clone. */
export interface DevelopmentFiles {
  readonly paramsFile: string
  readonly vkFile: string
  readonly markerFile: string
}

/**
 * How long a file of another place may go without a write. A set-up writes whenever it has made 96 MiB of points, which
 * is minutes apart on the slowest machine. One that was taken for gone all the same, since its machine slept for hours,
 * fails when it renames its file.
 */
const SILENT_LIMIT_MS = 3_600_000

/** Three files are renamed within milliseconds: whose turn has lasted for so long was killed. */
const TURN_LIMIT_MS = 5_000
const TURN_POLL_MS = 5

/** Place, process, and what no two set-ups share. */
const MAKER = /\.([0-9a-f]{16})-(\d+)-[0-9a-f]{12}\.tmp$/

/** What is in the name of a set-up's files until they are whole. */
export async function setupSuffix(): Promise<string> {
  return `${await place()}-${process.pid}-${randomBytes(6).toString('hex')}`
}

/** Where a file is written before it is whole. The suffix is the set-up's own, so that two never share one. */
export function temporaryFiles(files: DevelopmentFiles, suffix: string): DevelopmentFiles {
  return {
    paramsFile: `${files.paramsFile}.${suffix}.tmp`,
    vkFile: `${files.vkFile}.${suffix}.tmp`,
    markerFile: `${files.markerFile}.${suffix}.tmp`,
  }
}

/**
 * Gives a set-up's files their names. Two set-ups that end at the same time take turns: files of both, mixed, would be
 * the parameters of neither.
 * @param limitMs a test seam: how long another's turn is respected
 * @throws the system's error
 */
export async function putInPlace(
  temporary: DevelopmentFiles,
  files: DevelopmentFiles,
  limitMs: number = TURN_LIMIT_MS,
): Promise<void> {
  const turn = `${files.markerFile}.turn`
  const limit = performance.now() + limitMs
  while (!(await isOurs(turn)) && performance.now() < limit) await delay(TURN_POLL_MS)
  try {
    // The large file comes last: parameters are there once it is.
    await rename(temporary.vkFile, files.vkFile)
    await rename(temporary.markerFile, files.markerFile)
    await rename(temporary.paramsFile, files.paramsFile)
  } finally {
    await rm(turn, { force: true })
  }
}

/**
 * Gives the files of a set-up their names, all of them, in the place of those that were there: the set-up is done.
 * @param paramsDigest what `writeDevelopmentParameters` returned
 * @throws the system's error
 */
export async function placeParameters(files: DevelopmentFiles, suffix: string, paramsDigest: string): Promise<void> {
  const temporary = temporaryFiles(files, suffix)
  try {
    await putInPlace(temporary, files)
  } finally {
    await removeFiles(temporary)
  }
  await rememberDigest(files.paramsFile, paramsDigest)
}

/** Takes the turn if nobody has it. Where no file can be made any more there are no turns, but files can be renamed. */
async function isOurs(turn: string): Promise<boolean> {
  try {
    await (await open(turn, 'wx')).close()
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EEXIST'
  }
}

/** Removes those of a set-up's files that are there. */
export async function removeFiles(files: DevelopmentFiles): Promise<void> {
  await Promise.all([files.paramsFile, files.vkFile, files.markerFile].map((file) => rm(file, { force: true })))
}

/**
 * Removes what set-ups that are gone left half made: a killed process can't tidy up, and the files are large. A set-up
 * whose process' id another one of this place has by now stays until that one has ended too.
 * @param own names that are free: one is written for a moment
 */
export async function removeAbandonedFiles(files: DevelopmentFiles, own: DevelopmentFiles): Promise<void> {
  const [here, now] = await Promise.all([place(), fileSystemTime(own.markerFile)])
  for (const file of [files.paramsFile, files.vkFile, files.markerFile]) {
    const directory = dirname(file)
    for (const name of await readdir(directory)) {
      if (!name.startsWith(`${basename(file)}.`)) continue
      const [, where, pid] = MAKER.exec(name) ?? []
      if (where === undefined) continue
      const path = join(directory, name)
      const gone = where === here ? !isRunning(Number(pid)) : await isSilent(path, now)
      if (gone) await rm(path, { force: true })
    }
  }
}

/** The present time in ms by the clock that stamps files in a folder: that of the file server, where there is one. */
async function fileSystemTime(probe: string): Promise<number> {
  try {
    // Some text: an empty file may get its time from the client.
    await writeFile(probe, 'now', { flag: 'wx' })
    return (await stat(probe)).mtimeMs
  } catch {
    // No room, which abandoned files may be the reason of: clocks differ by less than the limit.
    return Date.now()
  } finally {
    await rm(probe, { force: true })
  }
}

async function isSilent(path: string, now: number): Promise<boolean> {
  try {
    return now - (await stat(path)).mtimeMs > SILENT_LIMIT_MS
  } catch {
    // Renamed or removed meanwhile, or not ours to look at.
    return false
  }
}

/**
 * Where process ids mean the same as here: this kernel since its start, and the namespace of ids that this process is
 * in. Elsewhere than on Linux, which has both, the host's name stands for them.
 */
async function place(): Promise<string> {
  const known = (look: Promise<string>): Promise<string> => look.catch(() => '')
  const [boot, namespace] = await Promise.all([
    known(readFile('/proc/sys/kernel/random/boot_id', 'utf8')),
    known(readlink('/proc/self/ns/pid')),
  ])
  return createHash('sha256').update([hostname(), boot.trim(), namespace].join('\n')).digest('hex').slice(0, 16)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user can't be signalled, but is there.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
