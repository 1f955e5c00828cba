/**
 * SnapDeals partitions of full size: 81 million values and three products a row have the digests of the reference.
 * Takes minutes.
 */
import { expect, it } from 'vitest'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { SnapUpdateRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import type { SnapPartition } from '../../src/synthesis/snap/snap-partition.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { snap32Request } from '../support/fixtures.ts'
import { syntheticSnapRequest } from '../support/synthetic-snap.ts'
import { vectorJson } from '../support/vectors.ts'

const MINUTE_MS = 60_000

async function check(circuitId: CircuitId, request: SnapUpdateRequest, partition: number, digests: boolean) {
  const begin = performance.now()
  const run = { signal: new AbortController().signal, unit: () => {} }
  const partitions = await takeOver(validateRequest(request))
  const witness = await checkAndSynthesize(partitions[partition] as SnapPartition, new WasmPoseidonHasher(), run)
  const machine = new CircuitMachine()
  const result = await machine.check(machine.load(circuitShape(circuitId)), witness, { digests })
  console.log(`${circuitId}: checked in ${((performance.now() - begin) / MINUTE_MS).toFixed(1)} minutes`)
  return result
}

it(
  'the last partition of a 32 GiB update makes the recorded witness',
  async () => {
    const [expected] = vectorJson('32GiB/witness-update-partition-15.json').partitions
    expect(await check('snap-32g', snap32Request(), 15, true)).toEqual({
      failure: undefined,
      digests: { inputs: expected.inputs_digest, aux: expected.aux_digest, products: expected.products },
    })
  },
  20 * MINUTE_MS,
)

it.each([
  ['snap-512m', '512m', 3],
  ['snap-64g', '64g', 9],
] as const)(
  'an update over synthetic trees satisfies the circuit: %s',
  async (circuitId, size, partition) => {
    expect((await check(circuitId, syntheticSnapRequest(size), partition, false)).failure).toBeUndefined()
  },
  20 * MINUTE_MS,
)
