/**
 * Assignment and quotient of circuits of any size on a real GPU:
 * `node test/gpu/bench-assignment.js [CIRCUIT …] [--kernels]`, porep-32g and wpost-32g unless named. The witness is
 * random: what it would take to satisfy the rows does not change the work. `--memory=BYTES` limits device memory,
 * `--binding=LOG2` the scalars of a binding, `--software` allows a software adapter.
 */
import { randomFillSync } from 'node:crypto'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { assignmentBytes } from '../../src/webgpu/assignment/assignment-bytes.ts'
import { WebGpuDevice } from '../../src/webgpu/webgpu-device.ts'
import { profile, profileKernels } from './bench-support.js'

const flags = new Map(process.argv.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')))
const named = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const number = (flag) => (flags.has(flag) ? Number(flags.get(flag)) : undefined)
const idle = { signal: new AbortController().signal, unit: () => {} }
const gigabytes = (bytes) => `${(bytes / 1e9).toFixed(2)} GB`
/** Scalars that a sum asks for at once. */
const TILE = 2 ** 24

const device = await WebGpuDevice.create({
  allowSoftware: flags.has('software'),
  memoryBytes: number('memory'),
  bindingBytes: flags.has('binding') ? 32 * 2 ** number('binding') : undefined,
})
const { gpu } = device
console.log(`${device.name}: bindings of ${gigabytes(gpu.bindingBytes)}, domains up to 2^${device.maxLog2Domain}`)

async function timed(label, work) {
  const start = performance.now()
  const result = await work()
  console.log(`  ${label}: ${(performance.now() - start).toFixed(1)} ms`)
  return result
}

/** Random values of every class, below r. */
function randomWitness({ inputs, root }) {
  const scalars = (count) => {
    const bytes = randomFillSync(new Uint8Array(32 * count))
    for (let i = 31; i < bytes.length; i += 32) bytes[i] &= 0x3f
    return bytes
  }
  return {
    inputs: scalars(inputs),
    bits: randomFillSync(new Uint8Array(8 * Math.ceil(root.totals.bits / 64))),
    wide: scalars(root.totals.wide),
  }
}

/** The longest unit, which is how long an urgent partition waits. */
async function withLongestUnit(label, work) {
  let longest = 0
  const units = await profile(gpu, async () => {
    const { onUnit } = gpu
    gpu.onUnit = (unit, ms) => {
      longest = Math.max(longest, ms)
      onUnit(unit, ms)
    }
    await work()
  })
  console.log(`  ${label}: ${units}; longest unit ${longest.toFixed(1)} ms`)
}

async function bench(circuitId) {
  console.log(circuitId)
  const shape = await timed('record the circuit', async () => circuitShape(circuitId))
  const plan = assignmentBytes(shape, gpu.bindingBytes)
  console.log(
    `  planned: ${Object.entries(plan)
      .map(([phase, bytes]) => `${phase} ${gigabytes(bytes)}`)
      .join(', ')}`,
  )
  const deviceShape = await timed('load the shape, kernels compiled', () => device.loadShape(shape))
  console.log(`  shape on the device: ${gigabytes(gpu.usedBytes)}; RSS ${gigabytes(process.memoryUsage.rss())}`)
  const witness = randomWitness(shape)
  const sent = witness.bits.byteLength + witness.wide.byteLength
  for (let round = 0; round < 3; round++) {
    gpu.peakBytes = gpu.allocatedBytes
    const assignment = await timed(`assign (${gigabytes(sent)} sent)`, () => device.assign(deviceShape, witness, idle))
    await timed('quotient', () => device.quotient(assignment, idle))
    assignment.release()
  }
  console.log(`  peak ${gigabytes(gpu.peakBytes)}, staging and idle buffers included`)
  let assignment
  await withLongestUnit('units of assign', async () => {
    assignment = await device.assign(deviceShape, witness, idle)
  })
  await withLongestUnit('units of quotient', () => device.quotient(assignment, idle))
  for (const [query, most] of [
    ['l', shape.aux],
    ['h', 2 ** shape.log2Domain - 1],
    ['a', shape.density.aAuxCount],
    ['b_g1', shape.density.bAuxCount],
  ]) {
    const count = Math.min(TILE, most)
    const first = most - count
    const copy = async () => {
      const scalars = await assignment.scalars(query, first, count)
      await scalars.ready
      scalars.release()
    }
    await copy()
    await timed(`${count} scalars of ${query}`, copy)
  }
  assignment.release()
  if (flags.has('kernels')) {
    const work = async () => {
      const again = await device.assign(deviceShape, witness, idle)
      await device.quotient(again, idle)
      again.release()
    }
    console.log(`  kernels: ${await profileKernels(gpu, work)}`)
  }
  deviceShape.release()
  gpu.trim()
}

for (const circuitId of named.length > 0 ? named : ['porep-32g', 'wpost-32g']) await bench(circuitId)
await device.close()
