/**
 * The package `webgpu` is a native library: a process that embeds the engine never has it in its own memory unless it
 * asks for threads.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Native libraries of a process after it ran some lines of JavaScript, as its memory map names them. */
function nativeLibraries(lines: string): string[] {
  const code = `
    const { Engine } = await import('./dist/index.js')
    ${lines}
    const { readFileSync } = await import('node:fs')
    const map = readFileSync('/proc/self/maps', 'utf8')
    console.log(JSON.stringify([...new Set(map.match(/[^/\\s]+\\.node$/gm))]))`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

describe.runIf(process.platform === 'linux')('the native library of WebGPU is not loaded', () => {
  test('by the import', () => {
    expect(nativeLibraries('')).toEqual([])
  })

  test('by an engine on the CPU, nor while one looks for GPUs', () => {
    const engine = (options: string): string =>
      `const engine = await Engine.create(${options}); globalThis.reason = engine.status().gpuUnavailable`
    const close = 'await engine.close()'
    expect(nativeLibraries(`${engine("{ gpu: { devices: 'cpu' } }")}; ${close}`)).toEqual([])
    expect(nativeLibraries(`${engine('{}')}; if (reason === undefined) throw new Error('a GPU'); ${close}`)).toEqual([])
  }, 60_000)

  test('this test would see it', () => {
    expect(nativeLibraries("await import('webgpu')")).toEqual(['dawn.node'])
  })
})
