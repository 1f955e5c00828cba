/**
 * A request of any size through `engine.prove` on a GPU or several, from a folder that the reference prover's `peer
 * synth` or `peer sector` wrote:
 *
 *     node test/gpu/bench-full.js CIRCUIT --inputs FOLDER|ARCHIVE.tar.xz [--parameters FOLDER] [--rounds 1] [--out FOLDER]
 *         [--trace FILE] [--memory GPU_BYTES] [--binding BYTES] [--software] [--partitions N] [--gpus 1]
 *
 * Prints the time of each phase, the units of the device, bytes across the bus, most memory of the host's processes and
 * of the device, and CPU time. `--out` gets `proof.hex`, `verifying.vk` and `inputs.json`, which
 * `peer verify KIND --vk … --inputs … --proof …` takes, and `summary.json`; `--trace` a timeline in Chrome's format.
 * Without `--parameters` the device makes development parameters in its memory, and keeps those that `--memory` leaves
 * room for; `--partitions` stops when so many are done, without a proof. In a folder that has none, or with
 * `--software`, they are written to a file first.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { planDevices } from '../../dist/device/open-devices.js'
import { createEngine } from '../../dist/engine.js'
import { developmentSetup, statementOf } from '../../dist/index.js'
import { madeOnDevice } from '../../dist/srs/made-on-device.js'
import { listAdapters } from '../../dist/webgpu/list-adapters.js'
import { developmentFileNames } from '../../src/params/published.ts'
import { peerRequest } from '../support/peer-request.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { HostUsage } from './host-usage.js'
import { deviceEvents, deviceUse, HostTrace, totals, tracedSlot, writeTrace } from './trace.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    inputs: { type: 'string' },
    parameters: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    out: { type: 'string', default: process.env.OUT },
    trace: { type: 'string' },
    memory: { type: 'string' },
    binding: { type: 'string' },
    software: { type: 'boolean', default: false },
    partitions: { type: 'string' },
    gpus: { type: 'string', default: '1' },
  },
})
const [circuitId] = positionals
if (circuitId === undefined || values.inputs === undefined) throw new Error('expected a circuit and --inputs')

const scratch = temporaryDirectory()
const usage = new HostUsage()
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`
const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`

async function time(label, work) {
  const start = performance.now()
  const result = await work()
  console.log(`${label}: ${seconds(performance.now() - start)}; RSS ${usage.now().map(mib).join(' + ')}`)
  return result
}

/** The folder that holds `request.json`, unpacked if it is an archive. */
function inputFolder(path) {
  if (statSync(path).isDirectory()) return path
  const folder = join(scratch, 'inputs')
  mkdirSync(folder)
  execFileSync('tar', ['-xJf', path, '-C', folder])
  const [inner, ...others] = readdirSync(folder)
  return others.length === 0 && inner !== undefined ? join(folder, inner) : folder
}

/** Times of everything that was traced, by name. */
function phases(events) {
  for (const [title, category] of [
    ['partitions', 'partition'],
    ['calls of the device', 'call'],
    ['steps', 'step'],
    ['transfers', 'transfer'],
    ['units', 'unit'],
  ]) {
    const lines = totals(events, category).map(({ name, count, ms, mostMs, bytes }) => {
      const size = bytes > 0 ? `, ${(bytes / 1e6).toFixed(1)} MB` : ''
      return `    ${name}: ${ms.toFixed(1)} ms in ${count}, ${mostMs.toFixed(1)} at most${size}`
    })
    if (lines.length > 0) console.log(`  ${title}:\n${lines.join('\n')}`)
  }
}

function report(round, result, wholeMs, events, usage) {
  if (result === undefined) console.log(`\nround ${round}: ${seconds(wholeMs)} until ${values.partitions} were done`)
  else {
    const { timings, partitions } = result
    console.log(`\nround ${round}: ${seconds(wholeMs)}, ${partitions} partitions, verified ${result.verified}`)
    console.log(
      `  engine: ${Object.entries(timings)
        .map(([name, ms]) => `${name} ${ms.toFixed(0)}`)
        .join(', ')}`,
    )
  }
  phases(events)
  console.log(`  device at work between its first and last unit: ${(deviceUse(events) * 100).toFixed(1)} %`)
  const { rssBytes, ownRssBytes, rssBefore, ownRssBefore, rssParts, ownCpuSeconds, childCpuSeconds } = usage
  console.log(`  host: RSS ${mib(rssBytes)} at most, ${mib(ownRssBytes)} of it this process`)
  console.log(`    before: ${mib(rssBefore)}, ${mib(ownRssBefore)} of it this process`)
  console.log(`    at its most, by process (own, of files, shared): ${rssParts} MiB`)
  console.log(`  CPU time: ${ownCpuSeconds.toFixed(2)} s here, ${childCpuSeconds.toFixed(2)} s in children`)
}

const folder = inputFolder(values.inputs)
const parameters = values.parameters ?? join(scratch, 'parameters')
const made = values.parameters === undefined && !values.software
if (!made && !existsSync(join(parameters, developmentFileNames(circuitId).paramsFile))) {
  const device = values.software ? 'cpu' : 'gpu'
  await time('development parameters in a file', () => developmentSetup(circuitId, { directory: parameters, device }))
}
const devices = join(scratch, 'devices.jsonl')
const plan = async (options, signal) => {
  const usable = (await listAdapters(signal)).adapters.filter(({ software }) => values.software || !software)
  if (usable.length === 0) return planDevices(options, signal)
  return {
    slots: usable
      .slice(0, Number(values.gpus))
      .map((adapter, index) => tracedSlot(adapter, index, options.gpu, devices)),
  }
}
const engine = await time('Engine.create', () =>
  createEngine(
    {
      parameterCache: parameters,
      allowDevelopmentParameters: true,
      gpu: {
        allowSoftware: values.software,
        fallback: 'never',
        ...(values.memory !== undefined && { memoryBytes: Number(values.memory) }),
        ...(values.binding !== undefined && {
          requiredLimits: { maxStorageBufferBindingSize: Number(values.binding), maxBufferSize: 2 ** 30 },
        }),
      },
    },
    { plan, ...(made && { locate: madeOnDevice(parameters) }) },
  ),
)
console.log(
  engine
    .status()
    .gpus.map(({ name }) => name)
    .join(', '),
)
if (made) {
  await time('development parameters on the device', () => engine.preload(circuitId))
  phases(deviceEvents(devices))
}
const request = await time('read the request', async () => peerRequest(folder))
const rounds = []
const enough = new Error('enough partitions')
/** Rejects with {@link enough} when so many partitions are done. */
function proveSome(count) {
  const stop = new AbortController()
  let done = 0
  engine.on('partition', ({ state }) => {
    if (state === 'done' && ++done === count) stop.abort(enough)
  })
  return engine.prove(request, { signal: stop.signal })
}
let result
for (let round = 1; round <= Number(values.rounds); round++) {
  const trace = new HostTrace(engine, devices)
  usage.restart()
  const from = (performance.timeOrigin + performance.now()) * 1000
  const start = performance.now()
  const proving = values.partitions === undefined ? engine.prove(request) : proveSome(Number(values.partitions))
  result = await proving.catch((error) => {
    if (error === enough) return undefined
    phases(trace.events())
    if (values.trace !== undefined) writeTrace(values.trace, trace.events())
    throw error
  })
  const wholeMs = performance.now() - start
  const events = trace.events()
  const own = events.filter(({ ts }) => ts === undefined || ts >= from)
  const used = usage.report()
  report(round, result, wholeMs, own, used)
  const deviceBytes = Math.max(0, ...events.filter(({ ph }) => ph === 'C').map(({ args }) => args.bytes))
  console.log(`  device memory: ${mib(deviceBytes)} at most`)
  rounds.push({ wholeMs, timings: result?.timings, ...used, deviceBytes, steps: totals(own, 'step') })
  // Of several rounds the first has what the others have not: memory that is made, code that is loaded.
  if (values.trace !== undefined) writeTrace(round === 1 ? values.trace : `${values.trace}.${round}`, own)
}
usage.stop()
if (values.out !== undefined && result !== undefined) {
  mkdirSync(values.out, { recursive: true })
  const { publicInputs } = statementOf(request)
  const hex = publicInputs.map((inputs) => inputs.map((input) => Buffer.from(input).toString('hex')))
  writeFileSync(join(values.out, 'inputs.json'), JSON.stringify(hex))
  writeFileSync(join(values.out, 'proof.hex'), Buffer.from(result.proof).toString('hex'))
  writeFileSync(join(values.out, 'verifying.vk'), readFileSync(join(parameters, `dev-${circuitId}.vk`)))
  writeFileSync(join(values.out, 'summary.json'), `${JSON.stringify({ circuitId, rounds }, null, 2)}\n`)
}
await engine.close()
removeDirectory(scratch)
