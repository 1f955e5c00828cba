/**
 * The timeline of an engine and its devices, in Chrome's trace format (chrome://tracing, ui.perfetto.dev): what
 * `traced-worker.js` wrote, and a row for each partition of each job out of the engine's own events.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { WorkerDeviceClient } from '../../dist/device/device-client.js'
import { IdenticalCards } from '../../dist/device/identical-cards.js'
import { gpuSpec } from '../../dist/device/open-devices.js'

/**
 * @typedef {{ name: string, cat?: string, ph: 'X' | 'M' | 'C', pid: number, tid: number, ts?: number, dur?: number,
 * args?: object }} TraceEvent
 */

/** A row a job, and one for each of its partitions after it. */
const ROWS_OF_JOB = 1000

const wallMicroseconds = (ms) => (performance.timeOrigin + ms) * 1000

/**
 * How an engine opens a GPU whose process writes to a trace.
 * @param file what the processes append to
 * @param worker built on `traced-worker.js`
 */
export function tracedSlot(adapter, index, gpu, file, worker = new URL('./traced-worker.js', import.meta.url)) {
  const { name, copy, copies } = adapter
  if (!alike.has(name)) alike.set(name, new IdenticalCards(name, copies))
  const start = (signal) =>
    alike.get(name).start(copy, (environment) =>
      WorkerDeviceClient.start(gpuSpec(adapter, gpu), `gpu-${index}`, {
        file: worker,
        isolation: 'process',
        environment: { ...environment, WGZK_TEST_TRACE: file },
        signal,
      }),
    )
  return { name, start }
}

/** Cards of one name. */
const alike = new Map()

/** Listens to an engine; {@link HostTrace.events} adds what its devices wrote. */
export class HostTrace {
  #file
  #events = []
  #jobs = new Map()

  /** @param file what the devices' processes append to */
  constructor(engine, file) {
    this.#file = file
    this.#name(0, 'process_name', 'engine')
    engine.on('queued', ({ job }) => {
      const row = ROWS_OF_JOB * (this.#jobs.size + 1)
      this.#jobs.set(job.id, { row, start: performance.now(), last: performance.now(), ends: new Map() })
      this.#name(row, 'thread_name', job.circuitId)
    })
    engine.on('partition', ({ job, index, state, previous, elapsedMs }) => {
      const known = this.#jobs.get(job.id)
      if (known === undefined) return
      const tid = known.row + 1 + index
      const end = performance.now()
      known.last = end
      // Told of some microseconds late, a state would begin before the one before it ends.
      const start = Math.max(end - elapsedMs, known.ends.get(index) ?? 0)
      known.ends.set(index, end)
      this.#complete(previous, 'partition', tid, start, end, { job: job.id, partition: index })
      if (state === 'done') this.#name(tid, 'thread_name', `partition ${index}`)
    })
    for (const end of ['completed', 'failed', 'cancelled']) engine.on(end, ({ job }) => this.#ended(job.id, end))
  }

  #ended(id, state) {
    const known = this.#jobs.get(id)
    if (known === undefined) return
    const now = performance.now()
    this.#complete(`job ${state}`, 'job', known.row, known.start, now, { job: id })
    if (state === 'completed') this.#complete('verify', 'job', known.row, known.last, now, { job: id })
  }

  #name(tid, name, text) {
    this.#events.push({ name, ph: 'M', pid: process.pid, tid, args: { name: text } })
  }

  #complete(name, cat, tid, start, end, args) {
    this.#events.push({
      name,
      cat,
      ph: 'X',
      pid: process.pid,
      tid,
      ts: wallMicroseconds(start),
      dur: (end - start) * 1000,
      args,
    })
  }

  /** Everything so far, of the engine and of its devices. @returns {TraceEvent[]} */
  events() {
    return [...this.#events, ...deviceEvents(this.#file)]
  }
}

/** What devices have written so far. @returns {TraceEvent[]} */
export function deviceEvents(file) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  return lines.map((line) => JSON.parse(line))
}

/** Writes a trace as one JSON array, its times from the first event on. */
export function writeTrace(file, events) {
  const first = Math.min(...events.flatMap(({ ts }) => (ts === undefined ? [] : [ts])))
  const moved = events.map((event) => (event.ts === undefined ? event : { ...event, ts: event.ts - first }))
  writeFileSync(file, `[\n${moved.map((event) => JSON.stringify(event)).join(',\n')}\n]\n`)
}

/** Count, time, longest and bytes of each step or unit of a category, in order of their first occurrence. */
export function totals(events, category) {
  const sums = new Map()
  for (const { name, cat, dur, args } of [...events].sort((a, b) => a.ts - b.ts)) {
    if (cat !== category) continue
    const { count, ms, mostMs, bytes } = sums.get(name) ?? { count: 0, ms: 0, mostMs: 0, bytes: 0 }
    sums.set(name, {
      count: count + 1,
      ms: ms + dur / 1000,
      mostMs: Math.max(mostMs, dur / 1000),
      bytes: bytes + (args?.bytes ?? 0),
    })
  }
  return [...sums].map(([name, sum]) => ({ name, ...sum }))
}

/**
 * The share of the time between the first and the last unit of proofs in which the device worked on one. What only
 * lifts clocks is of no call.
 */
export function deviceUse(events) {
  const units = events.filter(({ cat, args }) => cat === 'unit' && args.batch !== undefined).sort((a, b) => a.ts - b.ts)
  const devices = [...new Set(units.map(({ pid }) => pid))]
  const uses = devices.map((device) => {
    const own = units.filter(({ pid }) => pid === device)
    const [first, last] = [own[0], own[own.length - 1]]
    return own.reduce((sum, { dur }) => sum + dur, 0) / (last.ts + last.dur - first.ts)
  })
  return uses.length === 0 ? 0 : uses.reduce((sum, use) => sum + use, 0) / uses.length
}
