/**
 * What a calibration finds on a GPU, and what the rates of the device say of each circuit:
 * `node test/gpu/bench-calibration.js [--software] [--memory BYTES] [--no-rates]`. Nothing is remembered.
 */
import { circuitIds } from '../../src/budget/capabilities.ts'
import { circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateTime } from '../../src/budget/estimate-time.ts'
import { measureRates } from '../../src/groth16/device-rates.ts'
import { WebGpuDevice } from '../../src/webgpu/webgpu-device.ts'

const began = performance.now()
const say = (text) => console.log(`${((performance.now() - began) / 1000).toFixed(2)} s: ${text}`)
const run = { signal: new AbortController().signal, unit: (share) => say(`  ${(100 * share).toFixed(1)} %`) }

const memory = process.argv.indexOf('--memory')
const device = await WebGpuDevice.create({
  allowSoftware: process.argv.includes('--software'),
  ...(memory > 0 && { memoryBytes: Number(process.argv[memory + 1]) }),
})
say(`${device.name}, opened`)
await device.selfTest({ ...run, unit: () => {} })
say('self-test passed')
const { tuning, additionsPerMs, trials, compileMs, deviceMs } = await device.calibrate(run)
say(`calibrated: ${compileMs.toFixed(0)} ms of compiling, ${deviceMs.toFixed(0)} ms`)
for (const { what, tried, chosen } of trials) {
  say(`  ${what} ${chosen} of ${tried.map(({ value, ms }) => `${value}: ${ms.toFixed(2)} ms`).join(', ')}`)
}
say(`  ${JSON.stringify(tuning)}, ${additionsPerMs.toFixed(0)} additions a millisecond`)
if (!process.argv.includes('--no-rates')) {
  const rates = await measureRates(device, {}, run)
  say(JSON.stringify(rates))
  for (const circuitId of circuitIds().filter((id) => id.endsWith('-32g'))) {
    const { partitions, proofMs } = estimateTime(circuitId, circuitSize(circuitId), rates)
    say(`  ${circuitId}: ${(proofMs / partitions / 1000).toFixed(3)} s a partition`)
  }
}
await device.close()
say('closed')
