/**
 * WinningPoSt 32 GiB on a real GPU, with parameters that stay on the device: `node test/gpu/bench-proof.js`. Prints the
 * time of each phase, warm, and of the first proof of the process, kernels compiled in it.
 */
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { proveBatch } from '../../src/groth16/prove-batch.ts'
import { SrsPoints } from '../../src/groth16/srs-points.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { WebGpuDevice } from '../../src/webgpu/webgpu-device.ts'
import { winning32Request } from '../support/fixtures.ts'
import { makeRecordedParameters, openParameters } from '../support/parameters.ts'
import { idle } from '../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()
const shape = circuitShape('winning-32g')
const time = async (label, work) => {
  const start = performance.now()
  const result = await work()
  console.log(`${label}: ${(performance.now() - start).toFixed(0)} ms`)
  return result
}
const setUp = await WebGpuDevice.create({})
await time('development parameters', () => makeRecordedParameters(setUp, shape, directory, '32GiB', 'winning'))
await setUp.close()

const [partition] = await takeOver(validateRequest(winning32Request()))
const hasher = new WasmPoseidonHasher()
const witness = await time('check and witness', () => checkAndSynthesize(partition, hasher, idle))
await time('check and witness, again', () => checkAndSynthesize(partition, hasher, idle))
const source = await time('open parameters', () => openParameters(shape, directory))

const device = await time('open device', () => WebGpuDevice.create({}))
const deviceShape = await time('load shape', () => device.loadShape(shape))
const points = new SrsPoints(device, source, { keep: true })
const prove = () => proveBatch({ device, shape: deviceShape, witnesses: [witness], points, key: source.key }, idle)
await time('first proof', prove)
for (let i = 0; i < 4; i++) await time('proof', prove)
const units = new Map()
device.gpu.onUnit = (label, ms) => {
  const { time, count } = units.get(label) ?? { time: 0, count: 0 }
  units.set(label, { time: time + ms, count: count + 1 })
}
const assignment = await time('assign', () => device.assign(deviceShape, witness, idle))
await time('quotient', () => device.quotient(assignment, idle))
assignment.release()
await time('proof with its units', prove)
for (const [label, { time, count }] of units) console.log(`  ${label}: ${time.toFixed(1)} ms in ${count}`)
points.release()
deviceShape.release()
await source.close()
await device.close()
removeDirectory(directory)
