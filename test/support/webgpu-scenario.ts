/** Runs one scenario of `webgpu-child.js` on the software GPU. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { nodeFlags } from '../../scripts/node-flags.js'
import { softwareGpuEnvironment } from './software-gpu.js'

const child = fileURLToPath(new URL('./webgpu-child.js', import.meta.url))
const vectors = (name: string): string => fileURLToPath(new URL(`../vectors/2KiB/a/${name}`, import.meta.url))

/** @returns what the scenario prints, once its process has ended by itself, orderly and with nothing left */
export async function runWebGpuChild(
  scenario: string,
  directory: string,
  folder = 'window',
  variables: Readonly<Record<string, string>> = {},
  // biome-ignore lint/suspicious/noExplicitAny: each scenario has its own form, and tests check what they read
): Promise<any> {
  const env = { ...process.env, ...softwareGpuEnvironment(), ...variables }
  const started = spawn(process.execPath, [...nodeFlags(), child, scenario, directory, vectors(folder)], { env })
  let [output, errors] = ['', '']
  started.stdout.on('data', (data) => {
    output += data
  })
  started.stderr.on('data', (data) => {
    errors += data
  })
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    started.on('close', (...ended) => resolve(ended)),
  )
  expect({ code, signal, errors }).toEqual({ code: 0, signal: null, errors: '' })
  const result = JSON.parse(output)
  expect(result.used).toBe(0)
  expect(result.resources.filter((name: string) => /Worker|MessagePort|Timeout/.test(name))).toEqual([])
  return result
}
