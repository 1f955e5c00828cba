/**
 * A thousand jobs with random aborts, deadlines and faults on fake devices, in rounds; prints what is held at the end
 * of each, and what the engine costs beside the work itself:
 *
 *     npm run -s soak -- [--jobs 1000] [--seed 1] [--real PARAMETERS]
 *
 * With `--real` the proofs are real ones of wpost-2k on the CPU device, from development parameters in that folder,
 * with aborts but no faults.
 *
 * Ends with code 1 if something is left: reserved bytes, open devices, timers, threads, files, or memory that grows
 * from round to round.
 */
import { parseArgs } from 'node:util'
import { Engine } from '../../src/engine.ts'
import { GpuDeviceLostError, WorkerExitedError } from '../../src/errors.ts'
import { collect } from '../support/collect.ts'
import { FakeMachine, type Fault } from '../support/fake-device.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { openFiles } from '../support/open-files.ts'
import { measureEvents, measureQueue } from '../support/queue-load.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

const ROUNDS = 10
/** What the collector leaves lying from one round to the next, and what the allocator keeps of it. */
const NOISE_BYTES = { heap: 8 * 2 ** 20, rss: 64 * 2 ** 20 } as const

const { values } = parseArgs({
  options: { jobs: { type: 'string' }, seed: { type: 'string' }, real: { type: 'string' } },
})
const total = Number(values.jobs ?? 1000)
let state = Number(values.seed ?? 1)

/** 0 to 1, the same for the same seed (a linear congruence modulo 2^32). */
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

const FAULTS: readonly Fault[] = [
  { kind: 'throw', error: new WorkerExitedError('gone') },
  { kind: 'throw', error: new GpuDeviceLostError('reset') },
  { kind: 'die' },
  { kind: 'wrong' },
  { kind: 'deaf', ms: 20 },
]
const fakeRequests = [winningRequest(), syntheticWindowRequest('2k', 2), syntheticWindowRequest('2k', 6)]
const requests = values.real === undefined ? fakeRequests : [windowRequest()]
const counts = { completed: 0, rejected: 0 }

/** An engine for a round, and what of its devices is still open. */
async function start(jobs: number): Promise<{ engine: Engine; open: () => number }> {
  if (values.real !== undefined) {
    const options = { parameterCache: values.real, allowDevelopmentParameters: true }
    return { engine: await Engine.create({ ...options, gpu: { devices: 'cpu' } }), open: () => 0 }
  }
  const machine = new FakeMachine({ devices: 2, units: 2, unitMs: 1 })
  for (let fault = 0; fault < jobs / 10; fault++) {
    const operation = (['synthesize', 'prove', 'verify', 'warm'] as const)[Math.floor(random() * 4)] ?? 'prove'
    machine.fail(operation, 1 + Math.floor(random() * jobs * 2), FAULTS[Math.floor(random() * FAULTS.length)] as Fault)
  }
  return { engine: await machine.engine({ synthesis: { concurrency: 3, lookahead: 2 } }), open: () => machine.open }
}

/** Runs a round's jobs. @returns bytes and devices that are left */
async function round(jobs: number): Promise<number> {
  const { engine, open } = await start(jobs)
  const slowness = values.real === undefined ? 1 : 1_000
  const runs = Array.from({ length: jobs }, async () => {
    const request = requests[Math.floor(random() * requests.length)] as (typeof requests)[number]
    const abort = new AbortController()
    const timer = random() < 0.2 ? setTimeout(() => abort.abort('enough'), random() * 300 * slowness) : undefined
    const deadline = random() < 0.1 ? new Date(Date.now() + random() * 500 * slowness) : undefined
    try {
      await engine.prove({ ...request, deadline }, { signal: abort.signal })
      counts.completed++
    } catch {
      counts.rejected++
    }
    clearTimeout(timer)
  })
  await Promise.all(runs)
  await engine.close()
  return engine.status().memory.usedBytes + open()
}

/** Of this process: open files and the like, and what keeps its loop alive. */
function held(): { readonly files: number; readonly resources: number } {
  const files = openFiles().length
  const resources = process.getActiveResourcesInfo().filter((name) => /Timeout|Worker|MessagePort/.test(name)).length
  return { files, resources }
}

/**
 * What the engine adds to a partition: the CPU time of its thread, and how long a device that has more to do stands
 * idle between two.
 */
async function measureOverhead(partitions: number): Promise<{ cpuMs: number; gapMs: number }> {
  const engine = await new FakeMachine({ units: 2, unitMs: 4 }).engine({ synthesis: { concurrency: 2, lookahead: 2 } })
  const request = syntheticWindowRequest('2k', 2 * partitions)
  // Compiles.
  await engine.prove(request)
  const gaps: number[] = []
  let doneAt: number | undefined
  engine.on('partition', (event) => {
    if (event.state === 'gpu' && doneAt !== undefined) gaps.push(performance.now() - doneAt)
    if (event.state === 'done') doneAt = performance.now()
  })
  const from = process.cpuUsage()
  await engine.prove(request)
  const { user, system } = process.cpuUsage(from)
  await engine.close()
  const sorted = gaps.sort((a, b) => a - b)
  return { cpuMs: (user + system) / 1000 / partitions, gapMs: sorted[sorted.length >> 1] ?? Number.NaN }
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

let before: { heap: number; rss: number; files: number } | undefined
let last = { heap: 0, rss: 0, files: 0 }
for (let k = 1; k <= ROUNDS; k++) {
  const from = performance.now()
  const left = await round(Math.ceil(total / ROUNDS))
  collect()
  const { heapUsed, rss } = process.memoryUsage()
  const { files, resources } = held()
  last = { heap: heapUsed, rss, files }
  console.log(
    `round ${k}: ${(performance.now() - from).toFixed(0)} ms, heap ${mib(heapUsed)}, RSS ${mib(rss)}, ${files} files, ` +
      `${resources} timers and threads, ${left} left; ${counts.completed} completed, ${counts.rejected} rejected`,
  )
  if (left > 0 || resources > 0) process.exitCode = 1
  // The first round compiles, and builds what is kept for good.
  if (k === 2) before = last
}
if (before !== undefined) {
  const grown = { heap: last.heap - before.heap, rss: last.rss - before.rss, files: last.files - before.files }
  console.log(`since round 2: heap ${mib(grown.heap)}, RSS ${mib(grown.rss)}, ${grown.files} files more`)
  if (grown.heap > NOISE_BYTES.heap || grown.rss > NOISE_BYTES.rss || grown.files > 0) process.exitCode = 1
}

const { cpuMs, gapMs } = await measureOverhead(60)
const { queuedUs, leftUs, statusMs } = await measureQueue(10_000)
const { eventUs } = measureEvents(10_000)
console.log(
  `a partition: ${cpuMs.toFixed(2)} ms of CPU time beside its work, ${gapMs.toFixed(2)} ms from one to the next on a device`,
)
console.log(
  `10,000 queued jobs: ${queuedUs.toFixed(1)} µs each to queue, ${leftUs.toFixed(1)} µs to leave, ${statusMs.toFixed(2)} ms for status() of all`,
)
console.log(`an event: ${eventUs.toFixed(2)} µs`)
