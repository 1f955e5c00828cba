import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new empty folder. Remove it with {@link removeDirectory}. */
export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'wgzk-test-'))
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
}
