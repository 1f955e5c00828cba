/** Every example, run as README says, from the folder of the repository. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/run.js', ...args], { cwd: root, encoding: 'utf8', timeout: 600_000 })

describe('npm start', () => {
  it('makes development parameters, proves and verifies both proofs', { timeout: 600_000 }, () => {
    const { status, stdout, stderr } = run('examples/start.ts')
    expect(status, stderr).toBe(0)
    expect(stdout).toMatch(/^Device: \S/m)
    expect(stdout.match(/^ {4}valid; 192 bytes/gm)).toHaveLength(2)
    expect(existsSync(`${root}.cache/parameters/dev-winning-32g.json`)).toBe(true)
  })

  it('stops at Ctrl-C', { timeout: 300_000 }, async () => {
    const child = spawn(process.execPath, ['scripts/run.js', 'examples/start.ts'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, as the terminal's signal goes to a whole group.
      detached: true,
    })
    const output: string[] = []
    child.stderr.setEncoding('utf8').on('data', (text: string) => output.push(text))
    const exited = new Promise<number | null>((resolve) => child.on('exit', resolve))
    await new Promise<void>((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('WinningPoSt')) resolve()
      })
      child.on('exit', () => resolve())
    })
    process.kill(-(child.pid ?? 0), 'SIGINT')
    expect(await exited).toBe(130)
    expect(output.join('')).toContain('Interrupted.')
  })
})

it('prove-window-post.ts prints 192 bytes', { timeout: 300_000 }, () => {
  const { status, stdout, stderr } = run('examples/prove-window-post.ts')
  expect(status, stderr).toBe(0)
  expect(stdout).toMatch(/^192 bytes in \d+ ms: [0-9a-f]{384}$/m)
})

it('development parameters count as made only with their large file, the last to come and the first to be deleted', async () => {
  const directory = temporaryDirectory()
  vi.stubEnv('EXAMPLE_PARAMETERS', directory)
  try {
    const { haveDevelopmentParameters } = await import('../../examples/support/development-parameters.ts')
    for (const ending of ['vk', 'json']) writeFileSync(join(directory, `dev-wpost-2k.${ending}`), '')
    expect(haveDevelopmentParameters('wpost-2k')).toBe(false)
    writeFileSync(join(directory, 'dev-wpost-2k.params'), '')
    expect(haveDevelopmentParameters('wpost-2k')).toBe(true)
  } finally {
    vi.unstubAllEnvs()
    removeDirectory(directory)
  }
})
