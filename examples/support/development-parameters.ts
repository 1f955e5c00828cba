import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CircuitId, developmentSetup } from 'wgzk'

/** A folder of this repository that git ignores, or the one that the tests name, which have parameters already. */
const DIRECTORY = process.env.EXAMPLE_PARAMETERS ?? fileURLToPath(new URL('../../.cache/parameters/', import.meta.url))

/** Whether {@link developmentParameters} would find these made. */
export function haveDevelopmentParameters(circuitId: CircuitId): boolean {
  // This file gets its name last: without it an earlier run did not come to its end, or the space was wanted back.
  return existsSync(join(DIRECTORY, `dev-${circuitId}.params`))
}

/**
 * Makes development parameters where there are none yet. Whoever makes parameters can forge proofs for them, so these
 * serve examples and tests only.
 * @returns the folder they are in
 */
export async function developmentParameters(
  circuitId: CircuitId,
  options: { signal?: AbortSignal; onProgress?: (fraction: number) => void } = {},
): Promise<string> {
  if (!haveDevelopmentParameters(circuitId)) await developmentSetup(circuitId, { ...options, directory: DIRECTORY })
  return DIRECTORY
}
