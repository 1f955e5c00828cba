/**
 * How long each kernel of a proof takes to compile, one after another, then all at once on a fresh device: `node test/gpu/bench-compile.js`.
 * Drivers keep compiled kernels on disk: only a first run, or one with that cache emptied, shows what a first proof waits for.
 */
import { Gpu } from '../../src/webgpu/gpu.ts'
import { PROVING_KERNELS } from '../../src/webgpu/webgpu-device.ts'

const allowSoftware = process.argv.includes('--software')
const together = await Gpu.open({ allowSoftware })
const start = performance.now()
await together.prepare(PROVING_KERNELS)
console.log(`all at once: ${(performance.now() - start).toFixed(0)} ms`)
await together.close()
const gpu = await Gpu.open({ allowSoftware })
for (const kernel of PROVING_KERNELS) {
  const from = performance.now()
  await gpu.prepare([kernel])
  console.log(`${kernel.name}: ${(performance.now() - from).toFixed(0)} ms`)
}
await gpu.close()
