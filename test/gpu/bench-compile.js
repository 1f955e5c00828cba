/**
 * How long a proof's kernels take to compile where the driver sees them for the first time, and what of that runs side
 * by side: `node test/gpu/bench-compile.js [--software]`. Drivers keep compiled kernels on disk, so each measurement is
 * a process with an empty cache of its own: kernels one after another; all at once on one device; with helper devices
 * beside it, as a proving device does it, then the same where the cache has them.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CompileAhead } from '../../src/webgpu/compile-ahead.ts'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { PROVING_KERNELS } from '../../src/webgpu/proving-kernels.ts'

const allowSoftware = process.argv.includes('--software')
const [mode, helpers] = (process.env.BENCH_COMPILE ?? '').split(' ')

/** Milliseconds, and how many cores were busy meanwhile. */
async function timed(what, work) {
  const cpu = process.cpuUsage()
  const from = performance.now()
  await work(() => (performance.now() - from).toFixed(0))
  const ms = performance.now() - from
  const { user, system } = process.cpuUsage(cpu)
  console.log(`${what}: ${ms.toFixed(0)} ms, ${((user + system) / 1000 / ms).toFixed(1)} cores`)
}

const modes = {
  'one-by-one': async (gpu) => {
    const took = []
    await timed('one after another', async () => {
      for (const kernel of PROVING_KERNELS) {
        const from = performance.now()
        await gpu.prepare([kernel])
        took.push(`${kernel.name} ${(performance.now() - from).toFixed(0)}`)
      }
    })
    console.log(`  each: ${took.join(', ')}`)
  },
  together: async (gpu) => {
    const done = []
    await timed('all at once', (since) =>
      Promise.all(
        PROVING_KERNELS.map((kernel) => gpu.prepare([kernel]).then(() => done.push(`${kernel.name} ${since()}`))),
      ),
    )
    console.log(`  done after: ${done.join(', ')}`)
  },
  helped: async (gpu) => {
    const opened = []
    await timed(`with ${helpers} helpers`, async (since) => {
      const open = () => Gpu.open({ allowSoftware }).finally(() => opened.push(since()))
      await new CompileAhead(gpu, PROVING_KERNELS, open, { helpers: Number(helpers) }).done
    })
    console.log(`  helpers open after: ${opened.join(', ')}`)
  },
}

if (mode !== '') {
  const from = performance.now()
  const gpu = await Gpu.open({ allowSoftware })
  console.log(`device open after ${(performance.now() - from).toFixed(0)} ms`)
  await modes[mode](gpu)
  await gpu.close()
} else {
  const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
  for (const step of ['one-by-one', 'together', 'helped 4'].filter((s) => wanted.length === 0 || wanted.includes(s))) {
    const cache = mkdtempSync(join(tmpdir(), 'wgzk-compile-'))
    await child(step, cache)
    await child(step, cache)
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
