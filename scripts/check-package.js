/**
 * What publint and attw say about the package as it would be packed from the `dist/` that is there:
 *
 *     node scripts/check-package.js
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'wgzk-pack-'))
try {
  // Without scripts: `prepack` removes dist/, which others may be using.
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const tarball = join(folder, JSON.parse(output)[0].filename)
  const checks = [
    ['publint/src/cli.js', '--strict', tarball],
    ['@arethetypeswrong/cli/dist/index.js', tarball, '--profile', 'esm-only'],
  ]
  for (const [script, ...args] of checks) {
    const { status } = spawnSync(process.execPath, [join(root, 'node_modules', script), ...args], { stdio: 'inherit' })
    if (status !== 0) process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
