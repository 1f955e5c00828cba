/**
 * One scenario with the built package on the software GPU, in a process of its own that must end by itself:
 * `node webgpu-child.js NAME PARAMETERS VECTORS`, with the variables of the driver set. Prints one JSON object.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { WorkerDeviceClient } from '../../dist/device/device-client.js'
import { planDevices } from '../../dist/device/open-devices.js'
import { createEngine } from '../../dist/engine.js'
import { Engine, ProverError } from '../../dist/index.js'
import { listAdapters } from '../../dist/webgpu/list-adapters.js'
import { HostTrace, tracedSlot } from '../gpu/trace.js'
import { recordedWindow } from './child-request.js'

const [, , scenario, parameterCache, vectors] = process.argv
const request = recordedWindow(vectors)
const options = { parameterCache, allowDevelopmentParameters: true, cpu: { threads: 1 } }
const gpu = { allowSoftware: true }

/** Bytes of a vanilla proof to spoil: of comm_c, of a leaf's path. */
const flips = JSON.parse(process.env.WGZK_TEST_FLIPS ?? '[]')

const faultWorker = new URL('./gpu-fault-worker.js', import.meta.url)

/** Plans a GPU whose process is to suffer a fault. */
const faulty = (fault) => async (resolved, signal) => {
  const plan = await planDevices(resolved, signal)
  const environment = { WGZK_TEST_FAULT: fault }
  const spec = { kind: 'webgpu', allowSoftware: true, memoryBytes: fault === 'out-of-memory' ? 2 ** 16 : 'auto' }
  const start = (stop) =>
    WorkerDeviceClient.start(spec, 'faulty', { file: faultWorker, isolation: 'process', environment, signal: stop })
  return { ...plan, slots: [{ name: 'faulty', start }] }
}

const outcome = (promise) =>
  promise.then(
    ({ verified, proof }) => ({ verified, length: proof.length }),
    (error) => ({ code: ProverError.is(error) ? error.code : undefined, message: error.message }),
  )

const failure = (promise) =>
  promise.then(
    () => undefined,
    (error) => (ProverError.is(error) ? error.toJSON() : { message: error.message }),
  )

/** What an engine tells while it does something. */
async function watched(engine, work) {
  const events = []
  for (const name of ['retry', 'fallback']) engine.on(name, ({ error }) => events.push(`${name} ${error.code}`))
  engine.on('gpu', ({ state }) => events.push(`gpu ${state}`))
  const result = await work()
  const status = engine.status()
  await engine.close()
  return {
    ...result,
    events,
    gpus: status.gpus,
    gpuUnavailable: status.gpuUnavailable,
    used: engine.status().memory.usedBytes,
  }
}

const scenarios = {
  /** As an embedder does it; then a job that is aborted while the device has it. */
  async process() {
    const engine = await Engine.create({ ...options, gpu })
    return watched(engine, async () => {
      const from = performance.now()
      const first = await outcome(engine.prove(request))
      const proveMs = performance.now() - from
      const abort = new AbortController()
      engine.on('partition', ({ state }) => {
        if (state === 'gpu') setTimeout(() => abort.abort(new Error('enough')), 100)
      })
      const aborted = await outcome(engine.prove({ ...request, priority: 'critical' }, { signal: abort.signal }))
      const flipped = []
      for (const at of flips) {
        const vanillaProofs = request.vanillaProofs.map((bytes) => bytes.slice())
        vanillaProofs[1][at] ^= 1
        flipped.push(await failure(engine.prove({ ...request, vanillaProofs })))
      }
      const capability = engine.capabilities().find(({ circuitId }) => circuitId === 'wpost-2k')
      return { first, proveMs, aborted, flipped, capability }
    })
  },
  async thread() {
    const engine = await Engine.create({ ...options, gpu: { ...gpu, isolation: 'thread', fallback: 'never' } })
    return watched(engine, async () => ({ first: await outcome(engine.prove(request)) }))
  },
  /**
   * Two processes, each with a device of its own and the same blinding, prove the same at once. What they do is traced.
   */
  async two() {
    const file = join(parameterCache, 'devices.jsonl')
    const worker = new URL('./blinding-worker.js', import.meta.url)
    const engine = await createEngine(
      { ...options, gpu: { ...gpu, fallback: 'never' } },
      {
        plan: async (resolved, signal) => {
          const [adapter] = (await listAdapters(signal)).adapters
          return { slots: [0, 1].map((index) => tracedSlot(adapter, index, resolved.gpu, file, worker)) }
        },
      },
    )
    const trace = new HostTrace(engine, file)
    // The other one may still be starting.
    while (engine.status().gpus.some(({ state }) => state === 'starting')) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    let most = 0
    const used = new Map()
    engine.on('partition', ({ job, state, gpu: ordinal }) => {
      most = Math.max(most, engine.status().gpus.filter(({ state }) => state === 'proving').length)
      if (state === 'gpu') used.set(job.id, ordinal)
    })
    return watched(engine, async () => {
      const results = await Promise.all([engine.prove(request), engine.prove(request)])
      const proofs = results.map(({ proof }) => Buffer.from(proof).toString('hex'))
      return { proofs, devices: [...used.values()], most, trace: trace.events() }
    })
  },
  /** A GPU with a fault: each try fails, and the CPU device does the work. */
  async fault(fault) {
    const engine = await createEngine({ ...options, gpu }, { plan: faulty(fault) })
    return watched(engine, async () => ({ first: await outcome(engine.prove(request)) }))
  },
  /** What a GPU is tuned to, by default, once it was calibrated, in another process, and where that is switched off. */
  async calibrated() {
    const spec = { kind: 'webgpu', allowSoftware: true, memoryBytes: 'auto', selfTest: false }
    const used = async (work, environment = {}) => {
      const client = await WorkerDeviceClient.start(spec, 'calibrated', { isolation: 'process', environment })
      const result = await work(client)
      await client.close()
      return result
    }
    const abort = new AbortController()
    const [before, aborted, measured] = await used(async (client) => {
      const started = client.calibrate({ signal: abort.signal })
      setTimeout(() => abort.abort(new Error('enough')), 300)
      return [client.info.tuning, await failure(started), await client.calibrate({})]
    })
    const later = await used(async (client) => client.info.tuning)
    const off = await used(async (client) => client.info.tuning, { WGZK_CALIBRATION: 'off' })
    return { before, aborted, measured, later, off, used: 0 }
  },
  /** A device that has nothing to do calibrates itself, but for a call that comes meanwhile. */
  async idle() {
    const file = new URL('./idle-calibration-worker.js', import.meta.url)
    const spec = { kind: 'webgpu', allowSoftware: true, memoryBytes: 'auto', selfTest: false }
    const client = await WorkerDeviceClient.start(spec, 'idle', { file, isolation: 'process' })
    // After two seconds it has begun, and compiles kernels for some more.
    await delay(3_000)
    const from = performance.now()
    const stop = new AbortController()
    setTimeout(() => stop.abort(new Error('enough')), 50)
    const aborted = await failure(client.calibrate({ signal: stop.signal }))
    const waitedMs = performance.now() - from
    const folder = join(process.env.XDG_CACHE_HOME, 'wgzk')
    const kept = () => existsSync(folder) && readdirSync(folder).some((name) => /^gpu-.*\.json$/.test(name))
    const early = kept()
    while (!kept()) await delay(100)
    await client.close()
    return { aborted, waitedMs, early, used: 0 }
  },
  /** The same, but nothing stands in. */
  async strict(fault) {
    const engine = await createEngine({ ...options, gpu: { ...gpu, fallback: 'never' } }, { plan: faulty(fault) })
    return watched(engine, async () => ({ first: await outcome(engine.prove(request)) }))
  },
}

const [name, fault] = scenario.split(':')
const result = await scenarios[name](fault)
console.log(JSON.stringify({ ...result, resources: process.getActiveResourcesInfo() }))
