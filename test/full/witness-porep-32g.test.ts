/** A partition of a 32 GiB seal satisfies every one of 130 million rows. Minutes: `npm run test:full`. */
import { expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import type { PorepPartition } from '../../src/synthesis/porep/porep-partition.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { syntheticSealRequest } from '../support/synthetic-seal.ts'

it('a partition of a 32 GiB seal satisfies its circuit', { timeout: 30 * 60_000 }, async () => {
  const partitions = await takeOver(validateRequest(syntheticSealRequest('StackedDrg32GiBV1_1')))
  const run = { signal: new AbortController().signal, unit: () => {} }
  const hasher = new WasmPoseidonHasher()
  const partition = partitions[3] as PorepPartition
  const began = process.cpuUsage()
  const witness = await checkAndSynthesize(partition, hasher, run)
  const { user } = process.cpuUsage(began)
  const bytes = witness.inputs.length + witness.bits.length + witness.wide.length
  console.log(`synthesis: ${(user / 1e6).toFixed(2)} core-seconds, ${(bytes / 1e6).toFixed(1)} MB`)
  expect(bytes).toBeLessThan(100e6)
  const machine = new CircuitMachine()
  expect(await machine.check(machine.load(circuitShape('porep-32g')), witness)).toEqual({
    failure: undefined,
    digests: undefined,
  })
})
