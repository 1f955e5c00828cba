/**
 * Remembers which adapters were given the kernels of this version: most likely the driver has them in its cache then. A
 * guess that is wrong costs a quarter of a second.
 */
import { createHash } from 'node:crypto'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from '../params/cache-folder.ts'
import { replaceFile } from '../params/replace-file.ts'
import { answered } from '../params/waiting.ts'
import { packageVersion } from '../version.ts'

/** It saves less than that. */
const LIMIT_MS = 200

/** @throws the system's error if there is no home */
function markerOf(adapter: string): string {
  const version = packageVersion()
  const digest = createHash('sha256')
    .update(JSON.stringify([adapter, version]))
    .digest('hex')
  return join(cacheFolder(), `kernels-${digest.slice(0, 16)}.json`)
}

/**
 * Whether a process of this version has had the adapter compile its kernels before. Never fails: what can't be read was
 * not seen.
 */
export async function kernelsSeen(adapter: string): Promise<boolean> {
  try {
    const file = markerOf(adapter)
    await answered(file, access(file), { limitMs: LIMIT_MS })
    return true
  } catch {
    return false
  }
}

/** Never fails: what can't be written is not remembered. */
export async function rememberKernels(adapter: string): Promise<void> {
  try {
    const file = markerOf(adapter)
    await answered(file, replaceFile(file, `${JSON.stringify({ adapter })}\n`), { limitMs: LIMIT_MS })
  } catch {
    // The next start opens helpers that it would not need.
  }
}
