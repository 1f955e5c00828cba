/**
 * A full WindowPoSt partition: 126 million values and three products a row have the digests of the reference. Takes
 * minutes.
 */
import { expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import type { PostPartition } from '../../src/synthesis/post-partition.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { window32Request } from '../support/fixtures.ts'
import { vectorJson } from '../support/vectors.ts'

const MINUTE_MS = 60_000

it(
  'five sectors, padded to 2,349, make the recorded witness',
  async () => {
    const begin = performance.now()
    const run = { signal: new AbortController().signal, unit: () => {} }
    const [partition] = (await takeOver(validateRequest(window32Request()))) as [PostPartition]
    const witness = await checkAndSynthesize(partition, new WasmPoseidonHasher(), run)
    const machine = new CircuitMachine()
    const result = await machine.check(machine.load(circuitShape('wpost-32g')), witness, { digests: true })
    console.log(`wpost-32g: checked in ${((performance.now() - begin) / MINUTE_MS).toFixed(1)} minutes`)
    const [expected] = vectorJson('32GiB/witness-window-5-sectors.json').partitions
    expect(result).toEqual({
      failure: undefined,
      digests: { inputs: expected.inputs_digest, aux: expected.aux_digest, products: expected.products },
    })
  },
  30 * MINUTE_MS,
)
