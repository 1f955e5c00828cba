/**
 * The witness of an update: of a real sector it has the digests that the reference prover recorded; its sizes are the
 * shape's.
 */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { SnapUpdateRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { snapGeometry } from '../../src/synthesis/snap/snap-geometry.ts'
import { SnapWitnessWriter } from '../../src/synthesis/snap/snap-witness.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { snapRequest } from '../support/fixtures.ts'
import { syntheticSnapRequest } from '../support/synthetic-snap.ts'
import { vectorJson } from '../support/vectors.ts'

const hasher = new WasmPoseidonHasher()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }
const machine = new CircuitMachine()

async function witnessOf(request: SnapUpdateRequest, partition: number) {
  const partitions = await takeOver(validateRequest(request))
  return await checkAndSynthesize(partitions[partition] as (typeof partitions)[number], hasher, idle)
}

describe('the witness of an update', () => {
  it('has the recorded digests: 2 KiB', async () => {
    const circuit = machine.load(circuitShape('snap-2k'))
    const checked = await machine.check(circuit, await witnessOf(snapRequest(), 0), { digests: true })
    circuit.release()
    const [{ inputs_digest, aux_digest, products }] = vectorJson('2KiB/a/witness-update.json').partitions
    expect(checked).toEqual({
      failure: undefined,
      digests: { inputs: inputs_digest, aux: aux_digest, products },
    })
  }, 60_000)

  it('satisfies the circuit: 8 MiB, partition 2 of 4', async () => {
    const circuit = machine.load(circuitShape('snap-8m'))
    const checked = await machine.check(circuit, await witnessOf(syntheticSnapRequest('8m'), 2))
    circuit.release()
    expect(checked.failure).toBeUndefined()
  }, 60_000)

  it.each(['512m', '32g', '64g'] as const)(
    'is made of checked partitions on shared memory: %s',
    async (size) => {
      const { inputs, bits, wide } = await witnessOf(syntheticSnapRequest(size), 15)
      // Partition 15, and the fourth bit of h select above its four bits.
      expect(Buffer.from(inputs.subarray(32, 64)).readUInt32LE()).toBe(15 + 16 * 8)
      for (const { buffer } of [inputs, bits, wide]) expect(buffer).toBeInstanceOf(SharedArrayBuffer)
    },
    60_000,
  )

  it.each(['snap-2k', 'snap-8m', 'snap-512m', 'snap-32g', 'snap-64g'] as const)(
    'has the sizes of the shape: %s',
    (circuitId) => {
      const { root, inputs } = circuitShape(circuitId)
      expect(new SnapWitnessWriter(snapGeometry(circuitId)).sizes()).toEqual({
        inputsBytes: 32 * inputs,
        bitsBytes: 8 * Math.ceil(root.totals.bits / 64),
        wideBytes: 32 * root.totals.wide,
      })
    },
  )
})
