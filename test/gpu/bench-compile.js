/**
 * How long a proof's kernels take to compile where the driver sees them for the first time, and what of that runs side by side:
 * `node test/gpu/bench-compile.js [--software]`. Drivers keep compiled kernels on disk, so each measurement is a process with an empty
 * cache of its own: kernels one after another; all at once on one device, and on four; spread over four processes that share a cache, then all
 * at once in a process that finds them there.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { PROVING_KERNELS } from '../../src/webgpu/webgpu-device.ts'

const allowSoftware = process.argv.includes('--software')
const [mode, share = '0', shares = '1'] = (process.env.BENCH_COMPILE ?? '').split(' ')

/** Milliseconds, and how many cores were busy meanwhile. */
async function timed(what, work) {
  const cpu = process.cpuUsage()
  const from = performance.now()
  await work(() => (performance.now() - from).toFixed(0))
  const ms = performance.now() - from
  const { user, system } = process.cpuUsage(cpu)
  console.log(`${what}: ${ms.toFixed(0)} ms, ${((user + system) / 1000 / ms).toFixed(1)} cores`)
}

const part = PROVING_KERNELS.filter((_, k) => k % Number(shares) === Number(share))
const modes = {
  'one-by-one': async (gpu) => {
    const took = []
    await timed('one after another', async () => {
      for (const kernel of part) {
        const from = performance.now()
        await gpu.prepare([kernel])
        took.push(`${kernel.name} ${(performance.now() - from).toFixed(0)}`)
      }
    })
    console.log(`  each: ${took.join(', ')}`)
  },
  together: async (gpu) => {
    const done = []
    await timed(`${part.length} at once`, (since) =>
      Promise.all(part.map((kernel) => gpu.prepare([kernel]).then(() => done.push(`${kernel.name} ${since()}`)))),
    )
    if (shares === '1') console.log(`  done after: ${done.join(', ')}`)
  },
  devices: async (first) => {
    const rest = await Promise.all([1, 2, 3].map(() => Gpu.open({ allowSoftware })))
    const gpus = [first, ...rest]
    await timed('on four devices', () => Promise.all(part.map((kernel, k) => gpus[k % 4].prepare([kernel]))))
    for (const gpu of rest) await gpu.close()
  },
}

if (mode !== '') {
  const gpu = await Gpu.open({ allowSoftware })
  await modes[mode](gpu)
  await gpu.close()
} else {
  for (const steps of [['one-by-one'], ['together'], ['devices'], [0, 1, 2, 3].map((k) => `together ${k} 4`)]) {
    const cache = mkdtempSync(join(tmpdir(), 'wgzk-compile-'))
    const from = performance.now()
    await Promise.all(steps.map((step) => child(step, cache)))
    if (steps.length > 1)
      console.log(`in ${steps.length} processes: ${(performance.now() - from).toFixed(0)} ms, start included`)
    await child('together', cache)
    rmSync(cache, { recursive: true, force: true })
  }
}

function child(step, cache) {
  const env = { ...process.env, BENCH_COMPILE: step, XDG_CACHE_HOME: cache, __GL_SHADER_DISK_CACHE_PATH: cache }
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const started = spawn(process.execPath, args, { stdio: 'inherit', env })
  return new Promise((resolve, reject) => {
    started.once('error', reject)
    started.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${step} exited with ${code}`))))
  })
}
