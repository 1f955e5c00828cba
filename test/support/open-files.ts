/** The files that this process has open, where the system tells: tests of what is left open. */
import { existsSync, readdirSync, readlinkSync } from 'node:fs'

const DESCRIPTORS = '/proc/self/fd'

/** Linux says which files are open. */
export const tellsOpenFiles: boolean = existsSync(DESCRIPTORS)

/** Their paths, each as often as it is open; none where the system does not tell. */
export function openFiles(): string[] {
  if (!tellsOpenFiles) return []
  return readdirSync(DESCRIPTORS).flatMap((descriptor) => {
    try {
      return [readlinkSync(`${DESCRIPTORS}/${descriptor}`)]
    } catch {
      // The listing's own.
      return []
    }
  })
}
