/**
 * The first proof of a process: WinningPoSt 32 GiB from the start of Node to the verified proof, by `Engine.create` and
 * `engine.prove`, with parameters in a file whose digest nobody has taken yet:
 *
 *     node test/gpu/bench-first.js [--rounds 2] [--circuit winning-32g|wpost-2k] [--software] [--no-trace]
 *
 * Each round is a process whose driver has an empty cache of compiled kernels, then one that finds what the first left
 * there. Another process, with a cache of its own, makes the parameters. After the rounds one more cold process is
 * traced: when each kernel was compiled, who compiled it, and what waited for it.
 */
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    circuit: { type: 'string', default: 'winning-32g' },
    software: { type: 'boolean', default: false },
    'no-trace': { type: 'boolean', default: false },
  },
})
const { circuit, software } = values
const [mode, directory, trace] = JSON.parse(process.env.WGZK_BENCH_FIRST ?? '[]')
/** Milliseconds since this process was started. */
const since = () => performance.now()
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`

async function setUp() {
  const { developmentSetup } = await import('../../dist/index.js')
  await developmentSetup(circuit, { directory, device: software ? 'cpu' : 'gpu' })
  console.log(`development parameters: ${seconds(since())}`)
}

/** @returns the proof's timings, and when what was there */
async function first() {
  const { Engine } = await import('../../dist/index.js')
  const loaded = since()
  const { windowRequest, winning32Request } = await import('../support/fixtures.ts')
  const request = circuit === 'winning-32g' ? winning32Request() : windowRequest()
  const options = {
    parameterCache: directory,
    allowDevelopmentParameters: true,
    gpu: { fallback: 'never', allowSoftware: software },
  }
  const from = since()
  const engine = await (trace === undefined ? Engine.create(options) : tracedEngine(options))
  const created = since()
  const { timings, verified } = await engine.prove(request)
  const proved = since()
  const phases = Object.entries(timings).map(([name, ms]) => `${name} ${ms.toFixed(0)}`)
  console.log(
    `${mode}: ${seconds(proved)} from the start of the process; imports ${seconds(loaded)}, Engine.create ${seconds(created - from)}, ` +
      `prove ${seconds(proved - created)} (${phases.join(', ')}), verified ${verified}`,
  )
  await engine.close()
  if (trace !== undefined) await report()
}

async function tracedEngine(options) {
  const [{ createEngine }, { planDevices }, { listAdapters }, { tracedSlot }] = await Promise.all([
    import('../../dist/engine.js'),
    import('../../dist/device/open-devices.js'),
    import('../../dist/webgpu/list-adapters.js'),
    import('./trace.js'),
  ])
  const plan = async (resolved, signal) => {
    const { adapters } = await listAdapters(signal)
    const usable = adapters.filter((adapter) => software || !adapter.software)
    if (usable.length === 0) return planDevices(resolved, signal)
    return { slots: usable.slice(0, 1).map((adapter, index) => tracedSlot(adapter, index, resolved.gpu, trace)) }
  }
  return await createEngine(options, { plan })
}

/** From when to when, since the start of this process. */
async function report() {
  const { deviceEvents } = await import('./trace.js')
  const events = deviceEvents(trace).filter(({ ph }) => ph === 'X')
  const at = (ts) => (ts / 1000 - performance.timeOrigin).toFixed(0)
  const lines = (category) => {
    const own = events.filter(({ cat }) => cat === category).sort((a, b) => a.ts + a.dur - b.ts - b.dur)
    return own.map(({ name, ts, dur, args }) => {
      const device = args?.device === undefined || args.device === 0 ? '' : ` (helper ${args.device})`
      return `${name}${device} ${at(ts)}–${at(ts + dur)}`
    })
  }
  for (const category of ['call', 'step', 'open', 'wait', 'compile'])
    console.log(`  ${category}: ${lines(category).join(', ')}`)
}

/** Runs this file in another process. */
function child(what, cache, folder, file) {
  mkdirSync(cache, { recursive: true })
  const env = {
    ...process.env,
    XDG_CACHE_HOME: cache,
    __GL_SHADER_DISK_CACHE_PATH: cache,
    WGZK_BENCH_FIRST: JSON.stringify([what, folder, ...(file === undefined ? [] : [file])]),
  }
  const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const started = spawn(process.execPath, args, { stdio: 'inherit', env })
  return new Promise((resolve, reject) => {
    started.once('error', reject)
    started.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${what} exited with ${code}`))))
  })
}

if (mode === 'set-up') await setUp()
else if (mode !== undefined) await first()
else {
  const scratch = temporaryDirectory()
  const parameters = join(scratch, 'parameters')
  await child('set-up', join(scratch, 'cache of the set-up'), parameters)
  for (let round = 0; round < Number(values.rounds); round++) {
    const cache = join(scratch, `cache ${round}`)
    await child('driver that has seen nothing', cache, parameters)
    await child('the same again', cache, parameters)
  }
  if (!values['no-trace'])
    await child(
      'traced, driver that has seen nothing',
      join(scratch, 'cache of the trace'),
      parameters,
      join(scratch, 'trace'),
    )
  removeDirectory(scratch)
}
