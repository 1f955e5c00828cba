/** The command of the package, as built: what it prints, and how it ends. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { circuitTimes } from '../../src/cli/bench.ts'
import { developmentSetup } from '../../src/srs/development-setup.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const script = fileURLToPath(new URL('../../dist/cli/wgzk.js', import.meta.url))
const directory = temporaryDirectory()
/** No driver is looked for. */
const environment = { ...process.env, VK_ICD_FILENAMES: '', VK_DRIVER_FILES: '', XDG_CACHE_HOME: directory }

function wgzk(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: 'utf8',
    env: environment,
  })
  return { status, stdout, stderr }
}

beforeAll(() => developmentSetup('wpost-2k', { directory }))
afterAll(() => removeDirectory(directory))

describe('wgzk bench', () => {
  test('measures the CPU device, and proofs of circuits with parameters', () => {
    const args = [
      '--device',
      'cpu',
      '--log2',
      '10',
      '--circuit',
      'wpost-2k',
      '--rounds',
      '1',
      '--parameters',
      directory,
    ]
    const { status, stdout, stderr } = wgzk('bench', '--json', ...args)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const report = JSON.parse(stdout)
    const positive = expect.any(Number)
    expect(report.device).toMatch(/^CPU \(WebAssembly/)
    expect(report.rates).toMatchObject({ log2Domain: 10, sumNs: { g1: positive, g2: positive }, scatter: positive })
    expect(report.warnings).toEqual(expect.any(Array))
    const [proof, ...others] = report.proofs
    expect(others).toEqual([])
    expect(proof).toMatchObject({ circuitId: 'wpost-2k', development: true, keptPoints: true, firstMs: positive })
    expect(proof.nextMs.length).toBe(1)
    // What it says of circuits follows from the rates that it says; the CPU device serves domains up to 2^24.
    expect(report.estimates).toEqual(JSON.parse(JSON.stringify(circuitTimes(report.rates, 24))))
    expect(report.estimates.length).toBe(13)
  })

  test('prints a table', () => {
    const { status, stdout } = wgzk('bench', '--device', 'cpu', '--log2', '10')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^Measured on a domain of 2\^10$/m)
    expect(stdout).toMatch(/^ {2}winning-32g +1 +[\d.]+ (ms|s|min) +[\d.]+ (ms|s|min)$/m)
    expect(stdout).not.toContain('random witness')
  })

  test('says what is not there', () => {
    // Before anything is measured, which would take minutes at this size.
    const none = wgzk('bench', '--device', 'cpu', '--log2', '24', '--circuit', 'porep-2k', '--parameters', directory)
    expect(none).toMatchObject({ status: 1, stdout: '' })
    expect(none.stderr).toContain('parameters of porep-2k')
    const gpu = wgzk('bench', '--device', 'Voodoo')
    expect(gpu).toMatchObject({ status: 1, stdout: '' })
    expect(gpu.stderr).toContain('no GPU named Voodoo')
  })
})

test('wgzk doctor reports on a machine on which nothing can prove, and ends with 1', () => {
  // In pages of 64 KiB: less than the CPU device begins with.
  const args = ['--wasm-max-mem-pages=100', script, 'doctor', '--parameters', directory, '--json']
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env: environment })
  expect(status).toBe(1)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ canProve: false, devices: [], failure: expect.stringContaining('no device is left') })
  expect(report.cpu.reason).toMatch(/^the CPU device can't be used: .*memory/)
  expect(report.circuits.every(({ available }: { available: boolean }) => !available)).toBe(true)
})

test.each([
  [[], 'a command is missing'],
  [['prove'], 'no command prove'],
  [['bench', 'doctor'], 'no command bench doctor'],
  [['bench', '--log2', '9'], 'expected --log2 to be an integer from 10 to 24, got 9'],
  [['bench', '--rounds', '-1'], '--rounds'],
  [['bench', '--circuit', 'wpost-3k'], 'expected --circuit to be a circuit such as winning-32g, got wpost-3k'],
  [['bench', '--relaxed-simd', 'on'], 'expected --relaxed-simd to be auto, enable or never, got on'],
  [['doctor', '--fast'], "Unknown option '--fast'\n"],
  [['doctor', '--log2', '12'], 'doctor does not take --log2'],
  [['bench', '--calibrate'], 'bench does not take --calibrate'],
  [['bench', '--device', ''], 'expected --device to be a name'],
  [['doctor', '--parameters='], 'expected --parameters to be a name'],
])('refuses %j', (args, message) => {
  const { status, stdout, stderr } = wgzk(...args)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain(message)
  expect(stderr).toContain('usage:')
})

test('--version is that of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(wgzk('--version')).toMatchObject({ status: 0, stdout: `${version}\n` })
})

test('--help says how it is used', () => {
  const { status, stdout } = wgzk('--help')
  expect(status).toBe(0)
  expect(stdout).toMatch(/^usage: wgzk doctor/)
})
