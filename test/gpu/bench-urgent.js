/**
 * How long a WinningPoSt waits for the first GPU while it works on the partitions of a large request:
 *
 *     node test/gpu/bench-urgent.js CIRCUIT --inputs FOLDER [--urgent 8] [--every 1500] [--memory GPU_BYTES] [--software]
 *
 * The large request's inputs are a folder of the reference prover's `peer synth`; parameters of both circuits are made
 * in the device's memory. While partitions are on the device a WinningPoSt of 32 GiB is asked for at moments that have
 * nothing to do with them. Printed of each: from `engine.prove` to when the device is given its witness, to its first
 * unit of work, and to the proof. Then the large request is aborted. `--software` takes the WindowPoSt and WinningPoSt
 * of a 2 KiB sector, with parameters in files.
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createEngine } from '../../dist/engine.js'
import { developmentSetup } from '../../dist/index.js'
import { madeOnDevice } from '../../dist/srs/made-on-device.js'
import { listAdapters } from '../../dist/webgpu/list-adapters.js'
import { windowRequest, winning32Request, winningRequest } from '../support/fixtures.ts'
import { peerRequest } from '../support/peer-request.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { deviceEvents, tracedSlot } from './trace.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    inputs: { type: 'string' },
    urgent: { type: 'string', default: '8' },
    every: { type: 'string', default: '1500' },
    memory: { type: 'string' },
    software: { type: 'boolean', default: false },
  },
})
const { software } = values
const long = software ? 'wpost-2k' : positionals[0]
const urgent = software ? 'winning-2k' : 'winning-32g'
if (long === undefined || (values.inputs === undefined && !software)) throw new Error('expected a circuit and --inputs')
const longRequest = software ? windowRequest() : peerRequest(values.inputs)
const urgentRequest = software ? winningRequest() : winning32Request()

const scratch = temporaryDirectory()
const parameters = join(scratch, 'parameters')
const trace = join(scratch, 'trace')
/** As in the trace: milliseconds of a clock that processes share. */
const now = () => performance.timeOrigin + performance.now()

if (software) for (const circuit of [long, urgent]) await developmentSetup(circuit, { directory: parameters })
const plan = async ({ gpu }, signal) => {
  const { adapters } = await listAdapters(signal)
  const usable = adapters.filter((adapter) => software || !adapter.software)
  return { slots: usable.slice(0, 1).map((adapter, index) => tracedSlot(adapter, index, gpu, trace)) }
}
const engine = await createEngine(
  {
    parameterCache: parameters,
    allowDevelopmentParameters: true,
    gpu: {
      fallback: 'never',
      allowSoftware: software,
      ...(values.memory !== undefined && { memoryBytes: Number(values.memory) }),
    },
  },
  { plan, ...(!software && { locate: madeOnDevice(parameters) }) },
)
for (const circuit of [urgent, long]) {
  const from = now()
  await engine.preload(circuit)
  console.log(`${circuit} preloaded: ${((now() - from) / 1000).toFixed(2)} s`)
}
await engine.prove(urgentRequest)

const abort = new AbortController()
let onDevice = 0
engine.on('partition', ({ job, state, previous }) => {
  if (job.circuitId !== long) return
  if (state === 'gpu') onDevice++
  if (previous === 'gpu') onDevice--
})
let ended = false
const proving = engine
  .prove(longRequest, { signal: abort.signal })
  .then(
    () => 'ended by itself',
    (error) => (abort.signal.aborted ? 'aborted' : Promise.reject(error)),
  )
  .finally(() => {
    ended = true
  })
const given = new Map()
engine.on('partition', ({ job, state }) => {
  if (job.circuitId === urgent && state === 'gpu') given.set(job.id, now())
})
const asked = []
while (asked.length < Number(values.urgent) && !ended) {
  // A share of the period that no multiple of it comes near to.
  await Promise.race([delay(Number(values.every) * (0.7 + ((asked.length * 0.618) % 0.6))), proving])
  if (ended || onDevice === 0) continue
  const beside = onDevice
  const from = now()
  const { jobId, verified } = await engine.prove(urgentRequest)
  asked.push({ from, to: now(), jobId, verified, beside })
}
abort.abort()
console.log(`${long}: ${await proving}`)
await engine.close()

const events = deviceEvents(trace).filter(({ ph }) => ph === 'X')
const calls = events.filter(({ name, args }) => name === 'proveBatch' && args.circuitId === urgent)
const batches = new Set(calls.map(({ args }) => args.batch))
const units = events.filter(({ cat, args }) => cat === 'unit' && batches.has(args.batch)).sort((a, b) => a.ts - b.ts)
const rows = asked.map(({ from, to, jobId, beside }) => {
  const first = units.find(({ ts }) => ts / 1000 >= from && ts / 1000 <= to)
  const row = { given: given.get(jobId) - from, first: (first?.ts ?? Number.NaN) / 1000 - from, proof: to - from }
  console.log(
    `  beside ${beside} partitions: witness at the device ${row.given.toFixed(0)} ms, first unit ${row.first.toFixed(0)} ms ` +
      `(${(row.first - row.given).toFixed(0)} later), proof ${row.proof.toFixed(0)} ms`,
  )
  return row
})
for (const [what, of] of [
  ['witness at the device', (row) => row.given],
  ['from there to the first unit', (row) => row.first - row.given],
  ['first unit', (row) => row.first],
  ['proof', (row) => row.proof],
]) {
  const sorted = rows.map(of).sort((a, b) => a - b)
  const [least, middle, most] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map((k) => sorted[k]?.toFixed(0))
  console.log(`${what}: ${least} to ${most} ms, median ${middle}`)
}
const others = events.filter(({ cat, args }) => cat === 'unit' && args.batch !== undefined && !batches.has(args.batch))
console.log(
  `longest unit of ${long}: ${Math.max(...others.map(({ dur }) => dur / 1000)).toFixed(0)} ms of ${others.length}`,
)
if (asked.length === 0) throw new Error('no WinningPoSt was asked for while a partition was on the device')
removeDirectory(scratch)
