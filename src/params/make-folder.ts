/** Makes a folder and those above it. */
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/**
 * As `mkdir` with `recursive`, which never settles where a folder can't be made though the one above it is there, as in
 * `/proc`.
 * @throws the system's error
 */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path)
  try {
    await mkdir(folder)
  } catch (error) {
    if (await isFolder(folder)) return
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || (await isFolder(dirname(folder)))) throw error
    await makeFolder(dirname(folder))
    // Another process may have been faster.
    await mkdir(folder).catch(async (again: unknown) => {
      if (!(await isFolder(folder))) throw again
    })
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
