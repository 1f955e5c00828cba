/**
 * A thousand jobs with random aborts, deadlines and faults on fake devices, in rounds; prints what is held at the end of each:
 *
 *     npm run -s soak -- [--jobs 1000] [--seed 1]
 *
 * Ends with code 1 if something is left: reserved bytes, open devices, timers, or memory that grows from round to round.
 */
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { GpuDeviceLostError, WorkerExitedError } from '../../src/errors.ts'
import { FakeMachine, type Fault } from '../support/fake-device.ts'
import { winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

const ROUNDS = 10
/** What the collector leaves lying from one round to the next. */
const NOISE_BYTES = 8 * 2 ** 20

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')
const { values } = parseArgs({ options: { jobs: { type: 'string' }, seed: { type: 'string' } } })
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
const requests = [winningRequest(), syntheticWindowRequest('2k', 2), syntheticWindowRequest('2k', 6)]
const counts = { completed: 0, rejected: 0 }

async function round(jobs: number): Promise<number> {
  const machine = new FakeMachine({ devices: 2, units: 2, unitMs: 1 })
  for (let fault = 0; fault < jobs / 10; fault++) {
    const operation = (['synthesize', 'prove', 'verify', 'warm'] as const)[Math.floor(random() * 4)] ?? 'prove'
    machine.fail(operation, 1 + Math.floor(random() * jobs * 2), FAULTS[Math.floor(random() * FAULTS.length)] as Fault)
  }
  const engine = await machine.engine({ synthesis: { concurrency: 3, lookahead: 2 } })
  const runs = Array.from({ length: jobs }, async () => {
    const request = requests[Math.floor(random() * requests.length)] as (typeof requests)[number]
    const abort = new AbortController()
    const timer = random() < 0.2 ? setTimeout(() => abort.abort('enough'), random() * 300) : undefined
    const deadline = random() < 0.1 ? new Date(Date.now() + random() * 500) : undefined
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
  return engine.status().memory.usedBytes + machine.open
}

let first: number | undefined
let heapUsed = 0
for (let k = 1; k <= ROUNDS; k++) {
  const from = performance.now()
  const left = await round(Math.ceil(total / ROUNDS))
  collect()
  heapUsed = process.memoryUsage().heapUsed
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
  console.log(
    `round ${k}: ${(performance.now() - from).toFixed(0)} ms, heap ${mib(heapUsed)} MiB, RSS ${mib(process.memoryUsage().rss)} MiB, ` +
      `${left} left, ${timers} timers; ${counts.completed} completed, ${counts.rejected} rejected`,
  )
  if (left > 0 || timers > 0) process.exitCode = 1
  // The first round compiles, and builds what is kept for good.
  if (k === 2) first = heapUsed
}
if (first !== undefined && heapUsed - first > NOISE_BYTES) {
  console.log(`the heap grew by ${heapUsed - first} bytes`)
  process.exitCode = 1
}
