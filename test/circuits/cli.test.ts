import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { vectorJson } from '../support/vectors.ts'

const entry = fileURLToPath(new URL('../../src/cli/circuit.ts', import.meta.url))

function circuit(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ['--import', 'tsx', entry, ...args], { encoding: 'utf8' })
}

describe('npm run circuit', () => {
  it('prints the reference’s object', () => {
    const expected = vectorJson('shapes/window-2KiB.json')
    const { status, stdout, stderr } = circuit('wpost-2k', '--every', String(expected.every))
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual(expected)
  })

  it.each([
    [[], 'expected one circuit id'],
    [['wpost-2k', 'winning-2k'], 'expected one circuit id'],
    [['wpost-3k'], 'no circuit wpost-3k'],
    [['toString-2k'], 'no circuit toString-2k'],
    [['wpost-2k-2k'], 'no circuit wpost-2k-2k'],
    [['wpost-2k', '--every', '0'], '--every to be a positive integer, got 0'],
    [['wpost-2k', '--nth', '1'], "Unknown option '--nth'"],
  ])('refuses %j', (args, message) => {
    const { status, stdout, stderr } = circuit(...args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain('usage:')
  })
})
