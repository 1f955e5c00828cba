/**
 * Many proofs on one device, to see that nothing leaks: `node test/gpu/soak.js [--software] [count]` (1,000 unless
 * given). Device memory in use must be the same after every proof, and the process must not grow once it is warm.
 */
import assert from 'node:assert/strict'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { proveBatch } from '../../src/groth16/prove-batch.ts'
import { SrsPoints } from '../../src/groth16/srs-points.ts'
import { verifyProofs } from '../../src/groth16/verify.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { statementOf } from '../../src/request/statement.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { WebGpuDevice } from '../../src/webgpu/webgpu-device.ts'
import { windowRequest } from '../support/fixtures.ts'
import { makeRecordedParameters, openParameters } from '../support/parameters.ts'
import { idle } from '../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const count = Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 1000)
const directory = temporaryDirectory()
const shape = circuitShape('wpost-2k')
const device = await WebGpuDevice.create({ allowSoftware: process.argv.includes('--software') })
await makeRecordedParameters(device, shape, directory, '2KiB', 'window')
const source = await openParameters(shape, directory)
const [partition] = await takeOver(validateRequest(windowRequest()))
const witness = await checkAndSynthesize(partition, new WasmPoseidonHasher(), idle)
const deviceShape = await device.loadShape(shape)
const points = new SrsPoints(device, source, { keep: true })
const key = source.key
const { publicInputs } = statementOf(windowRequest())

let used
let warm
const start = performance.now()
for (let i = 1; i <= count; i++) {
  const proofs = await proveBatch({ device, shape: deviceShape, witnesses: [witness], points, key: source.key }, idle)
  used ??= device.gpu.usedBytes
  assert.equal(device.gpu.usedBytes, used, `device memory after proof ${i}`)
  if (i % 100 === 0 || i === count) {
    assert(verifyProofs(key, publicInputs, proofs[0]), `proof ${i}`)
    const rss = process.memoryUsage().rss
    if (i === 100) warm = rss
    console.log(
      `${i} proofs, ${((performance.now() - start) / i).toFixed(1)} ms each, device ${device.gpu.allocatedBytes} bytes, RSS ${rss}`,
    )
  }
}
const grown = process.memoryUsage().rss - (warm ?? Number.POSITIVE_INFINITY)
assert(grown < 128 * 2 ** 20, `the process grew by ${grown} bytes after the first hundred proofs`)
points.release()
deviceShape.release()
await source.close()
await device.close()
removeDirectory(directory)
console.log('no leak')
