/** The package as npm packs it, installed beside its dependencies only, run by this Node and by Node 24. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { node24 } from '../../scripts/node24.js'

const root = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '')
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'wgzk-installed-'))
  // Without scripts: `prepack` would remove dist/ under the tests that use it; the launcher has built.
  const [pack] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ filename: string }]
  const home = join(folder, 'node_modules/wgzk')
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, pack.filename), '-C', home, '--strip-components=1'])

  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    if (path === '' || dev) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(root, path), join(folder, path))
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  copyFileSync(new URL('prove-installed.js', import.meta.url), join(folder, 'prove.js'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function prove(node: string): Record<string, unknown> {
  const data = join(root, 'examples/data/window-2k')
  const parameters = mkdtempSync(join(folder, 'parameters-'))
  const { status, stdout, stderr } = spawnSync(node, ['prove.js', data, parameters], {
    cwd: folder,
    encoding: 'utf8',
    // It has to end by itself: a thread or timer left open would run into this.
    timeout: 400_000,
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout) as Record<string, unknown>
}

const EXPECTED = { bytes: 192, development: true, valid: true, refused: true, code: 'ERR_INVALID_REQUEST' }

it('proves and verifies on this Node', { timeout: 420_000 }, () => {
  expect(prove(process.execPath)).toMatchObject({ ...EXPECTED, node: process.version })
})

const newer = node24()
if (newer === undefined) console.log(`no Node 24 package for ${process.platform}-${process.arch}: not run on it`)
it.skipIf(newer === undefined)('proves and verifies on Node 24', { timeout: 420_000 }, () => {
  expect(prove(newer ?? '')).toMatchObject({ ...EXPECTED, node: expect.stringMatching(/^v24\./) })
})
