/**
 * Every kernel check on a real GPU, by plain Node (24 or newer, which reads TypeScript):
 * `node test/gpu/run.js [--software] [name …]`. First with the limits that the adapter offers, then with WebGPU's
 * defaults and dispatches of two dimensions. The last line is "N passed, N failed".
 */
import { Gpu } from '../../src/webgpu/gpu.ts'
import { longAssignmentChecks } from './checks/assignment.ts'
import { checks } from './checks/index.ts'
import { longProofChecks, sealProofChecks } from './checks/proofs.ts'
import { longSetupChecks } from './checks/setup.ts'

const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const allowSoftware = process.argv.includes('--software')
const all = { ...checks, ...longAssignmentChecks, ...longProofChecks, ...sealProofChecks, ...longSetupChecks }
const wanted = Object.entries(all).filter(([name]) => names.length === 0 || names.some((part) => name.includes(part)))

let passed = 0
let failed = 0
for (const [label, options] of [
  ['limits of the adapter', {}],
  ['default limits, narrow grids', { requiredLimits: {}, gridWidth: 3 }],
]) {
  const gpu = await Gpu.open({ allowSoftware, ...options })
  console.log(`${gpu.info.name}, ${label}`)
  for (const [name, check] of wanted) {
    const start = performance.now()
    try {
      await check(gpu)
      passed++
      console.log(`  ok   ${name} (${Math.round(performance.now() - start)} ms)`)
    } catch (error) {
      failed++
      console.log(`  FAIL ${name}\n${error.stack}`)
    }
  }
  await gpu.close()
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
