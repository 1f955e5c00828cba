/**
 * A device's process that writes down what it does: one line of JSON an event, in Chrome's trace format, appended to
 * the file that `WGZK_TEST_TRACE` names. `trace.js` makes a timeline of it.
 *
 * Rows: one for each call that the device has in hand at a time, likewise for steps of proofs and for transfers, and
 * one for the device's units. Whatever is done for a call is told apart by its asynchronous context.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { appendFileSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import { deviceFunctions } from '../../dist/device/device-functions.js'
import { endProcess, serveProcess } from '../../dist/device/process-link.js'
import { SrsFile } from '../../dist/params/srs-file.js'
import { Gpu } from '../../dist/webgpu/gpu.js'
import { WebGpuDevice } from '../../dist/webgpu/webgpu-device.js'

const file = process.env.WGZK_TEST_TRACE
const pid = process.pid
const context = new AsyncLocalStorage()

/** Events are written together: a line each would cost more than some of what they tell of. */
const LINES_AT_ONCE = 500
const lines = []
let batches = 0

function write(event) {
  lines.push(JSON.stringify({ pid, ...event }))
  if (lines.length >= LINES_AT_ONCE) flush()
}

function flush() {
  if (lines.length > 0) appendFileSync(file, `${lines.splice(0).join('\n')}\n`)
}

/** Microseconds, the same in all processes of a machine. */
const wallMicroseconds = (ms) => (performance.timeOrigin + ms) * 1000

/** Rows of one kind: as many as there are things at once, since what overlaps can't share one. */
class Rows {
  #taken = []
  constructor(name, first) {
    this.name = name
    this.first = first
  }

  take() {
    const free = this.#taken.indexOf(false)
    const k = free === -1 ? this.#taken.length : free
    this.#taken[k] = true
    if (free === -1) {
      write({ name: 'thread_name', ph: 'M', tid: this.first + k, args: { name: `${this.name} ${k}` } })
    }
    return k
  }

  give(k) {
    this.#taken[k] = false
  }
}

const UNITS_ROW = 1
/** What blocks the thread that submits units: nothing is submitted meanwhile, and no end of a unit is seen. */
const HOST_ROW = 2
const callRows = new Rows('call', 10)
/** A range is imported while the one before it is summed. */
const stepRows = new Rows('step', 100)
const transferRows = { read: new Rows('read', 200), up: new Rows('up', 300), down: new Rows('down', 400) }
write({ name: 'process_name', ph: 'M', tid: 0, args: { name: `device ${pid}` } })
write({ name: 'thread_name', ph: 'M', tid: UNITS_ROW, args: { name: 'units' } })
write({ name: 'thread_name', ph: 'M', tid: HOST_ROW, args: { name: 'host' } })

function complete(name, cat, tid, start, end, args) {
  write({ name, cat, ph: 'X', tid, ts: wallMicroseconds(start), dur: (end - start) * 1000, args })
}

async function timed(name, cat, tid, args, work) {
  const start = performance.now()
  try {
    return await work()
  } finally {
    complete(name, cat, tid, start, performance.now(), args)
  }
}

async function onRow(rows, name, cat, args, work) {
  const k = rows.take()
  try {
    return await timed(name, cat, rows.first + k, args, work)
  } finally {
    rows.give(k)
  }
}

/** A function of the worker, as an event that everything done for it lies in. */
function traced(name, call) {
  return async (args, run) => {
    const store = { batch: batches++, stepEnd: undefined }
    const about = { batch: store.batch, circuitId: args?.circuitId, partitions: args?.witnesses?.length }
    try {
      return await context.run(store, () => onRow(callRows, name, 'call', about, () => call(args, run, store)))
    } finally {
      flush()
    }
  }
}

/** After the last sum the device has nothing more to do: three points are made of five sums. */
const proveBatch = (call) => async (args, run, store) => {
  const proved = await call(args, run)
  const { batch, stepEnd } = store
  const row = stepRows.take()
  complete('assemble', 'step', stepRows.first + row, stepEnd, performance.now(), { batch })
  stepRows.give(row)
  return proved
}

/** Steps of a proof. What says which query a step is of is the only string among its arguments. */
const STEPS = [
  'loadShape',
  'assign',
  'quotient',
  'loadPoints',
  'multiexp',
  'openSetup',
  'fixedBaseMultiples',
  'selfTest',
]

/** Of buffers, those that a driver maps one by one; of calls, those that take part of a unit's time. */
const LARGE_BYTES = 2 ** 24
const LONG_MS = 2
/** How often the event loop is looked at. */
const LOOP_MS = 10

/** Buffers that are made and destroyed, and calls of the driver and turns of the event loop that take long. */
function watchHost({ device }) {
  const call = (target, method, about) => {
    const plain = target[method].bind(target)
    target[method] = (...args) => {
      const start = performance.now()
      const result = plain(...args)
      const end = performance.now()
      const { bytes, ...more } = about(...args)
      if (bytes >= LARGE_BYTES || end - start >= LONG_MS)
        complete(method, 'host', HOST_ROW, start, end, { bytes, ...more })
      return result
    }
  }
  const { createBuffer } = device
  device.createBuffer = (descriptor) => {
    const buffer = createBuffer.call(device, descriptor)
    call(buffer, 'destroy', () => ({ label: buffer.label, bytes: buffer.size }))
    return buffer
  }
  call(device, 'createBuffer', ({ label, size }) => ({ label, bytes: size }))
  call(device.queue, 'submit', () => ({}))
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      if (duration >= LONG_MS) complete('garbage collection', 'host', HOST_ROW, startTime, startTime + duration, {})
    }
  }).observe({ entryTypes: ['gc'] })
  let last = performance.now()
  setInterval(() => {
    const now = performance.now()
    if (now - last >= 2 * LOOP_MS) complete('event loop', 'loop', HOST_ROW + 1, last, now, {})
    last = now
  }, LOOP_MS).unref()
}

function watch(device) {
  const { gpu } = device
  watchHost(gpu)
  for (const step of STEPS) {
    const call = device[step]?.bind(device)
    if (call === undefined) continue
    device[step] = (...args) => {
      const store = context.getStore()
      if (store === undefined) return call(...args)
      const about = args.find((arg) => typeof arg === 'string')
      const name = about === undefined ? step : `${step} ${about}`
      return onRow(stepRows, name, 'step', { batch: store.batch }, () => call(...args)).finally(() => {
        store.stepEnd = performance.now()
      })
    }
  }
  // All sums at once, if the device takes them so: it says at once if it does not.
  const sumQueries = device.sumQueries.bind(device)
  device.sumQueries = (...args) => {
    const sums = sumQueries(...args)
    const store = context.getStore()
    if (sums === undefined || store === undefined) return sums
    return onRow(stepRows, 'sumQueries', 'step', { batch: store.batch }, () => sums).finally(() => {
      store.stepEnd = performance.now()
    })
  }
  gpu.onUnit = (label, ms) => {
    const end = gpu.lastUnitEnd
    const batch = context.getStore()?.batch
    complete(label, 'unit', UNITS_ROW, end - ms, end, { batch })
    const memory = { bytes: gpu.peakBytes, allocated: gpu.allocatedBytes, used: gpu.usedBytes }
    write({ name: 'device memory', ph: 'C', tid: 0, ts: wallMicroseconds(end), args: memory })
  }
  for (const [method, rows] of [
    ['upload', transferRows.up],
    ['download', transferRows.down],
  ]) {
    const call = gpu[method].bind(gpu)
    gpu[method] = (...args) => {
      const bytes = args.find((arg) => ArrayBuffer.isView(arg))?.byteLength ?? args[2]
      return onRow(rows, method, 'transfer', { batch: context.getStore()?.batch, bytes }, () => call(...args))
    }
  }
}

/**
 * Kernels being compiled, by device: helpers beside the first one compile ahead of it. What works waits for several
 * kernels at once, while compiling ahead asks for one at a time.
 */
const { prepare } = Gpu.prototype
const compileRows = new Rows('compile', 500)
const devices = new Map()
Gpu.prototype.prepare = async function (kernels) {
  if (!devices.has(this)) devices.set(this, devices.size)
  const device = devices.get(this)
  const start = performance.now()
  const ahead = kernels.length === 1
  const row = compileRows.take()
  try {
    await prepare.call(this, kernels)
  } finally {
    compileRows.give(row)
    const end = performance.now()
    if (end - start >= LONG_MS) {
      const name = ahead ? kernels[0].name : `${kernels[0].name} and ${kernels.length - 1} others`
      complete(name, ahead ? 'compile' : 'wait', compileRows.first + row, start, end, { device })
    }
  }
}
const { open } = Gpu
Gpu.open = (...args) => onRow(compileRows, 'device', 'open', {}, () => open.call(Gpu, ...args))

const create = WebGpuDevice.create
WebGpuDevice.create = async (options) => {
  const device = await create.call(WebGpuDevice, options)
  watch(device)
  return device
}
const { readInto } = SrsFile.prototype
SrsFile.prototype.readInto = function (query, first, target) {
  const args = { batch: context.getStore()?.batch, bytes: target.byteLength }
  return onRow(transferRows.read, `read ${query}`, 'transfer', args, () => readInto.call(this, query, first, target))
}

/** What a batch is made of; short answers such as `receive` would only fill the file. */
const CALLS = ['start', 'selfTest', 'proveBatch', 'warm', 'forget', 'close']
/** r and s of every proof, where proofs are to be compared: 31 bytes each, big-endian. */
const blinding = process.env.WGZK_TEST_BLINDING?.match(/.{62}/g)?.map((half) => BigInt(`0x${half}`))
const functions = deviceFunctions(endProcess, blinding && { r: blinding[0], s: blinding[1] })
const watched = { ...functions, proveBatch: proveBatch(functions.proveBatch) }
serveProcess({ ...functions, ...Object.fromEntries(CALLS.map((name) => [name, traced(name, watched[name])])) })
