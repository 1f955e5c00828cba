/** Seals of all sizes and rules, from their JSON to the witness: forms that no recorded sector has. */
import { describe, expect, it, vi } from 'vitest'
import { circuitShape } from '../../../src/circuit/circuit-shape.ts'
import { CircuitMachine } from '../../../src/cpu/circuit-machine.ts'
import { WasmPoseidonHasher } from '../../../src/cpu/poseidon.ts'
import type { Run } from '../../../src/groth16/proving-device.ts'
import { takeOver } from '../../../src/request/partitions.ts'
import type { PorepC2Request, RegisteredSealProof } from '../../../src/request/proof-request.ts'
import { statementOf } from '../../../src/request/statement.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import type { PorepPartition } from '../../../src/synthesis/porep/porep-partition.ts'
import { checkAndSynthesize } from '../../../src/synthesis/synthesize.ts'
import { proverErrorOf } from '../../support/expect-error.ts'
import { outputBincode } from '../../support/porep.ts'
import { syntheticSealRequest } from '../../support/synthetic-seal.ts'

vi.setConfig({ testTimeout: 60_000 })

const hasher = new WasmPoseidonHasher()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }

const read = (request: PorepC2Request): Promise<PorepPartition[]> => takeOver(validateRequest(request))

/** Inputs of a witness, without ONE. */
async function inputsOf(partition: PorepPartition): Promise<Uint8Array> {
  const witness = await checkAndSynthesize(partition, hasher, idle)
  return witness.inputs.subarray(32)
}

describe('a seal', () => {
  const names: RegisteredSealProof[] = [
    'StackedDrg2KiBV1',
    'StackedDrg2KiBV1_1',
    'StackedDrg2KiBV1_1_Feat_SyntheticPoRep',
    'StackedDrg8MiBV1',
    'StackedDrg8MiBV1_1',
    'StackedDrg512MiBV1_1',
  ]
  it.each(names)('of %s passes every check, and states what the chain verifies', async (name) => {
    const request = syntheticSealRequest(name)
    const partitions = await read(request)
    const { publicInputs } = statementOf(request)
    for (const [k, partition] of partitions.entries()) {
      expect(Buffer.from(await inputsOf(partition))).toEqual(Buffer.concat(publicInputs[k] as Uint8Array[]))
    }
    expect(await read({ ...request, vanillaProof: outputBincode(partitions) })).toEqual(partitions)
  })

  it.each(['StackedDrg2KiBV1_1_Feat_SyntheticPoRep', 'StackedDrg8MiBV1_1'] as const)(
    'of %s satisfies the circuit',
    async (name) => {
      const [partition] = (await read(syntheticSealRequest(name))) as [PorepPartition]
      const machine = new CircuitMachine()
      const circuit = machine.load(circuitShape(partition.circuitId))
      expect(await machine.check(circuit, await checkAndSynthesize(partition, hasher, idle))).toEqual({
        failure: undefined,
        digests: undefined,
      })
      circuit.release()
    },
  )

  it('of one set of rules is none of another', async () => {
    const request = syntheticSealRequest('StackedDrg2KiBV1_1')
    const bincode = outputBincode(await read(request))
    // Bincode does not say of which proof it is: the replica id does.
    const other = { ...request, vanillaProof: bincode, registeredProof: 'StackedDrg2KiBV1' } as const
    expect((await proverErrorOf(() => read(other))).details.field).toBe('vanillaProof.replica_id')
  })
})

describe.each(['32GiB', '64GiB'] as const)('a seal of %s', (size) => {
  it('has ten partitions that all pass, and none at another’s place', async () => {
    const request = syntheticSealRequest(`StackedDrg${size}V1_1`)
    const cpuMs = (): number => process.cpuUsage().user / 1000
    const began = cpuMs()
    const partitions = await read(request)
    // 2 s on an idle machine is the aim; this is about a fifth of it.
    expect(cpuMs() - began).toBeLessThan(4000)
    expect(partitions.length).toBe(10)
    const { publicInputs } = statementOf(request)
    for (const k of [0, 9]) {
      const inputs = await inputsOf(partitions[k] as PorepPartition)
      expect(Buffer.from(inputs)).toEqual(Buffer.concat(publicInputs[k] as Uint8Array[]))
    }
    const [first, second] = partitions as [PorepPartition, PorepPartition]
    const error = await proverErrorOf(() => checkAndSynthesize({ ...second, proofs: first.proofs }, hasher, idle))
    expect(error.details).toMatchObject({
      field: 'vanillaProof.vanilla_proofs[1][0].comm_d_proofs',
      partition: 1,
      challenge: 0,
    })
    // A fault deep in a late partition is named.
    const last = partitions[9] as PorepPartition
    last.proofs[last.proofs.length - 20] = (last.proofs[last.proofs.length - 20] as number) ^ 1
    const deep = await proverErrorOf(() => checkAndSynthesize(last, hasher, idle))
    expect(deep.details).toMatchObject({
      field: 'vanillaProof.vanilla_proofs[9][17].encoding_proof.parents[36]',
      partition: 9,
      challenge: 17,
    })
  })
})
