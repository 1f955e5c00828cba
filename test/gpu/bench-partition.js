/**
 * One partition on a GPU, with memories of any size: the same witness and the same r and s, so that all have to give
 * the same bytes.
 *
 *     node test/gpu/bench-partition.js CIRCUIT … [--inputs FOLDER] [--parameters FOLDER] [--memory BYTES,…] [--rounds 2] [--binding BYTES] [--software]
 *
 * The witness is that of the request's first partition, and the proof is verified; without `--inputs` it is random,
 * which does not change the work. Parameters lie in a file with `--parameters`, made on the GPU if the folder has none;
 * else the device makes them in its memory. For each memory there is a device of its own, in a process of its own; the
 * first of its rounds loads what is kept. With `--inputs` an engine is asked at last with too little memory.
 */
import { randomBytes, randomFillSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { planDevices } from '../../dist/device/open-devices.js'
import { createEngine } from '../../dist/engine.js'
import { setupWith } from '../../dist/srs/development-setup.js'
import { listAdapters } from '../../dist/webgpu/list-adapters.js'
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { verifyProofs } from '../../src/groth16/verify.ts'
import { paramsLayout } from '../../src/params/layout.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import { openVerifyingKey } from '../../src/params/srs-file.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { locateParameters } from '../../src/srs/locate-parameters.ts'
import { madeOnDevice } from '../../src/srs/made-on-device.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { leastGpuBytes } from '../../src/webgpu/working-set.ts'
import { peerRequest } from '../support/peer-request.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { HostUsage } from './host-usage.js'
import { deviceEvents, deviceUse, totals, tracedSlot } from './trace.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    inputs: { type: 'string' },
    parameters: { type: 'string' },
    memory: { type: 'string', default: 'auto' },
    rounds: { type: 'string', default: '2' },
    binding: { type: 'string' },
    software: { type: 'boolean', default: false },
  },
})
const scratch = temporaryDirectory()
const usage = new HostUsage()
const folder = values.parameters ?? join(scratch, 'parameters')
const run = { signal: new AbortController().signal, unit: () => {} }
const gibibytes = (bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`
// Whoever knows these learns about the witness: they are drawn for this run, and told to nobody but the devices.
process.env.WGZK_TEST_BLINDING = randomBytes(31).toString('hex') + randomBytes(31).toString('hex')

/** Random values of every class, below r. */
function randomWitness({ inputs, root }) {
  const scalars = (count) => {
    const bytes = randomFillSync(new Uint8Array(32 * count))
    for (let i = 31; i < bytes.length; i += 32) bytes[i] &= 0x3f
    return bytes
  }
  const bits = randomFillSync(new Uint8Array(8 * Math.ceil(root.totals.bits / 64)))
  return { inputs: scalars(inputs), bits, wide: scalars(root.totals.wide) }
}

async function witnessOf(circuitId) {
  if (values.inputs === undefined) return randomWitness(circuitShape(circuitId))
  const [first] = await takeOver(validateRequest(peerRequest(values.inputs)))
  return await checkAndSynthesize(first, new WasmPoseidonHasher(), run)
}

async function locate(circuitId) {
  if (values.parameters === undefined) return await made(circuitId, { allowDevelopment: true })
  if (!existsSync(join(folder, developmentFileNames(circuitId).paramsFile))) {
    const start = performance.now()
    usage.restart()
    await setupWith(circuitId, { directory: folder, device: 'gpu' }, undefined, values.software)
    const ms = performance.now() - start
    const { fileBytes } = paramsLayout(circuitShape(circuitId))
    const { rssBytes, childCpuSeconds } = usage.report()
    console.log(
      `  parameters written: ${seconds(ms)}, ${gibibytes(fileBytes)}, ${(fileBytes / ms / 1e6).toFixed(2)} GB/s; ` +
        `host ${gibibytes(rssBytes)} at most, ${childCpuSeconds.toFixed(1)} s of CPU time`,
    )
  }
  return await locateParameters(circuitId, { directory: folder, allowDevelopment: true })
}
const made = madeOnDevice(folder)
const adapter = (await listAdapters()).adapters.find(({ software }) => values.software || !software)

/** Proves with a device that may use so much memory. @returns the proof */
async function prove(circuitId, parameters, witness, memory, number) {
  const gpu = {
    allowSoftware: values.software,
    memoryBytes: memory === 'auto' ? memory : Number(memory),
    requiredLimits:
      values.binding === undefined
        ? {}
        : { maxStorageBufferBindingSize: Number(values.binding), maxBufferSize: 2 ** 30 },
  }
  const trace = join(scratch, `${circuitId}-${number}.jsonl`)
  usage.restart()
  const client = await tracedSlot(adapter, 0, gpu, trace).start(run.signal)
  const { secrets, ...location } = parameters
  const circuit = { circuitId, parameters: location, secrets, keepPoints: true }
  const { constraints } = circuitShape(circuitId)
  let proof
  try {
    for (let round = 1; round <= Number(values.rounds); round++) {
      const before = deviceEvents(trace).length
      const start = performance.now()
      const result = await client.proveBatch({ ...circuit, witnesses: [witness] }, {})
      const ms = performance.now() - start
      const events = deviceEvents(trace).slice(before)
      const { keptBytes, streamedBytes } = result.points
      console.log(
        `  memory ${memory}, round ${round}: ${seconds(ms)}, of it loading ${seconds(result.loadMs)}; ` +
          `${((1e6 * (ms - result.loadMs)) / constraints).toFixed(2)} ns a constraint; ` +
          `points kept ${gibibytes(keptBytes)}, in every pass ${gibibytes(streamedBytes)}; ` +
          `device at work ${(100 * deviceUse(events)).toFixed(1)} % from its first to its last unit`,
      )
      for (const category of ['step', 'transfer', 'unit']) {
        const parts = totals(events, category).map(({ name, count, ms, mostMs, bytes }) => {
          const size = bytes > 0 ? `, ${(bytes / 1e9).toFixed(2)} GB` : ''
          return `${name} ${ms.toFixed(0)} ms/${count} (≤ ${mostMs.toFixed(0)})${size}`
        })
        console.log(`    ${category}s: ${parts.join('; ')}`)
      }
      const reads = totals(events, 'transfer').filter(({ name }) => name.startsWith('read '))
      const bytes = reads.reduce((sum, read) => sum + read.bytes, 0)
      if (bytes > 0)
        console.log(`    read ${(bytes / 1e9).toFixed(1)} GB, ${(bytes / ms / 1e6).toFixed(2)} GB/s of the whole time`)
      if (proof !== undefined && !equal(proof, result.proofs[0])) throw new Error('another round gave other bytes')
      proof = result.proofs[0]
    }
    const deviceBytes = Math.max(0, ...deviceEvents(trace).map(({ ph, args }) => (ph === 'C' ? args.bytes : 0)))
    const { rssBytes } = usage.report()
    console.log(`    most memory: device ${gibibytes(deviceBytes)}, host ${gibibytes(rssBytes)} in all processes`)
  } finally {
    await client.close()
  }
  return proof
}

const equal = (a, b) => Buffer.compare(a, b) === 0

/** What an engine says that may use a third less than a partition needs, and how soon. */
async function refuse(circuitId) {
  const gpu = { allowSoftware: values.software, fallback: 'never', memoryBytes: Math.floor(leastOf(circuitId) / 1.5) }
  const engine = await createEngine(
    { parameterCache: folder, allowDevelopmentParameters: true, gpu },
    { plan: planDevices, ...(values.parameters === undefined && { locate: made }) },
  )
  const start = performance.now()
  const error = await engine.prove(peerRequest(values.inputs)).then(
    () => ({ code: 'none' }),
    (reason) => reason,
  )
  const ms = performance.now() - start
  console.log(`  with too little: ${error.code} after ${ms.toFixed(0)} ms: ${error.message}`)
  await engine.close()
  return error.code === 'ERR_BUDGET_EXCEEDED'
}

const leastOf = (circuitId) => leastGpuBytes(circuitSize(circuitId), Number(values.binding ?? 2 ** 31))

let right = true
for (const circuitId of positionals) {
  console.log(
    `${circuitId}: ${circuitShape(circuitId).constraints} constraints, at least ${gibibytes(leastOf(circuitId))}`,
  )
  const parameters = await locate(circuitId)
  const witness = await witnessOf(circuitId)
  const proofs = []
  for (const [k, memory] of values.memory.split(',').entries()) {
    proofs.push(await prove(circuitId, parameters, witness, memory, k))
  }
  const same = proofs.every((proof) => equal(proof, proofs[0]))
  right &&= same
  console.log(`  ${proofs.length} memories gave ${same ? 'the same bytes' : 'DIFFERENT BYTES'}`)
  if (values.inputs === undefined) continue
  const key = await openVerifyingKey(parameters)
  const inputs = []
  for (let at = 32; at < witness.inputs.length; at += 32) inputs.push(witness.inputs.slice(at, at + 32))
  const holds = verifyProofs(key, [inputs], proofs[0])
  console.log(`  the proof ${holds ? 'holds' : 'DOES NOT HOLD'}`)
  right &&= holds && (await refuse(circuitId))
}
usage.stop()
removeDirectory(scratch)
process.exitCode = right ? 0 : 1
