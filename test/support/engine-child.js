/**
 * One scenario with the built package, in a process of its own that must end by itself:
 * `node engine-child.js NAME PARAMETERS VECTORS`. Prints one JSON object.
 */
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Engine, ProverError, verifyProof } from '../../dist/index.js'
import { recordedWindow } from './child-request.js'

const [, , scenario, parameterCache, vectors] = process.argv
const request = recordedWindow(vectors)
const options = { parameterCache, allowDevelopmentParameters: true }

/** Ms that a promise takes to settle, and what it rejects with. */
async function rejection(promise) {
  const from = performance.now()
  try {
    await promise
    return { ms: performance.now() - from }
  } catch (error) {
    const code = ProverError.is(error) ? error.code : undefined
    return { ms: performance.now() - from, code, details: error.details, message: error.message }
  }
}

/** Resolves when the first partition is in the given state. */
const reached = (engine, state) =>
  new Promise((resolve) => {
    engine.on('partition', (event) => {
      if (event.state === state) setTimeout(resolve, 20)
    })
  })

/** Files that this process has open, where the system tells. */
function openFiles() {
  const folder = '/proc/self/fd'
  if (!existsSync(folder)) return []
  return readdirSync(folder).flatMap((fd) => {
    try {
      return readlinkSync(join(folder, fd))
    } catch {
      // The listing's own.
      return []
    }
  })
}

const scenarios = {
  async success() {
    const createFrom = process.cpuUsage()
    const engine = await Engine.create(options)
    const { user, system } = process.cpuUsage(createFrom)
    const delay = monitorEventLoopDelay({ resolution: 1 })
    const fractions = []
    delay.enable()
    const result = await engine.prove(request, { onProgress: ({ fraction }) => fractions.push(fraction) })
    delay.disable()
    const verified = await verifyProof(request, result.proof, options)
    const status = engine.status()
    await engine.close()
    return {
      createCpuMs: (user + system) / 1000,
      loopDelayMs: delay.percentile(99) / 1e6,
      fractions,
      verified,
      length: result.proof.length,
      development: result.development,
      timings: result.timings,
      device: status.gpus[0].name,
      closed: engine.status().state,
      usedBytes: engine.status().memory.usedBytes,
    }
  },
  async failure() {
    const engine = await Engine.create(options)
    const vanillaProofs = request.vanillaProofs.map((bytes) => bytes.slice())
    // A byte in the middle of the first path: some node below the root.
    vanillaProofs[0][200] ^= 1
    const bad = await rejection(engine.prove({ ...request, vanillaProofs }))
    await engine.close()
    const other = await Engine.create({ ...options, parameterCache: join(parameterCache, 'none') })
    const missing = await rejection(other.prove(request))
    await other.close()
    return { bad, missing }
  },
  async 'not-allowed'() {
    const engine = await Engine.create({ parameterCache })
    const refused = await rejection(engine.prove(request))
    await engine.close()
    return { refused }
  },
  async abort() {
    const engine = await Engine.create(options)
    const results = {}
    for (const state of ['synthesizing', 'gpu']) {
      const abort = new AbortController()
      const proving = engine.prove(request, { signal: abort.signal })
      proving.catch(() => {})
      await reached(engine, state)
      abort.abort(new Error(`while ${state}`))
      results[state] = await rejection(proving)
    }
    const again = await engine.prove(request)
    await engine.close()
    return { ...results, verified: again.verified }
  },
  async force() {
    const engine = await Engine.create(options)
    const outcome = rejection(engine.prove(request))
    await reached(engine, 'gpu')
    const closing = await rejection(engine.close({ force: true }))
    return { outcome: await outcome, closing }
  },
  async preload() {
    const engine = await Engine.create({ ...options, cpu: { threads: 1, relaxedSimd: 'never' } })
    await engine.preload('wpost-2k')
    const { srs } = engine.status()
    const { timings } = await engine.prove(request)
    const warm = engine.capabilities().filter((capability) => capability.warm)
    await engine[Symbol.asyncDispose]()
    return { srs, timings, warm }
  },
  /** Two jobs at once in a budget for one partition. */
  async 'two-jobs'() {
    const engine = await Engine.create({ ...options, memory: { totalBytes: Number(process.env.WGZK_TEST_BYTES) } })
    const order = []
    let most = 0
    engine.on('partition', ({ job, index, state }) => {
      if (state === 'synthesizing') order.push(`${job.requestId} ${index}`)
      most = Math.max(most, engine.status().memory.usedBytes)
    })
    const arrived = []
    engine.on('queued', ({ job }) => arrived.push(job.requestId))
    const results = await Promise.all(['a', 'b'].map((requestId) => engine.prove({ ...request, requestId })))
    const verified = []
    for (const { proof } of results) verified.push(await verifyProof(request, proof, options))
    await engine.close()
    return { order, arrived, verified, most, usedBytes: engine.status().memory.usedBytes }
  },
  async 'create-aborted'() {
    const creating = []
    for (const afterMs of [20, 40, 60, 80, 100, 120, 140, 160]) {
      const abort = new AbortController()
      const timer = setTimeout(() => abort.abort(new Error('never mind')), afterMs)
      creating.push(
        await rejection(Engine.create({ ...options, signal: abort.signal }).then((engine) => engine.close())),
      )
      clearTimeout(timer)
    }
    return { creating, openModules: openFiles().filter((file) => file.endsWith('.js')) }
  },
}

const result = await scenarios[scenario]()
console.log(
  JSON.stringify({ ...result, resources: process.getActiveResourcesInfo() }, (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  ),
)
