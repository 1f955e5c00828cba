/**
 * Witnesses of real sectors: their compact form, expanded and evaluated, has the digests that the reference prover
 * recorded.
 */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { ProofRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { postGeometry } from '../../src/synthesis/post-geometry.ts'
import { postWitnessSizes } from '../../src/synthesis/post-witness.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { window3Request, windowRequest, winning32Request, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest, syntheticWinningRequest } from '../support/synthetic-post.ts'
import { vectorJson } from '../support/vectors.ts'

interface RecordedWitness {
  readonly inputs_digest: string
  readonly aux_digest: string
  readonly products: { readonly a: string; readonly b: string; readonly c: string }
}

const hasher = new WasmPoseidonHasher()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }
const machine = new CircuitMachine()

async function checkAll(request: ProofRequest, digests: boolean) {
  const partitions = await takeOver(validateRequest(request))
  const circuit = machine.load(circuitShape(validateRequest(request).circuitId))
  try {
    const results = []
    for (const partition of partitions) {
      results.push(await machine.check(circuit, await checkAndSynthesize(partition, hasher, idle), { digests }))
    }
    return results
  } finally {
    circuit.release()
  }
}

describe('the witness of a PoSt', () => {
  const recorded: [string, () => ProofRequest, string][] = [
    ['window', windowRequest, '2KiB/a/witness-window.json'],
    ['window-3, the second partition padded', window3Request, '2KiB/a/witness-window-3.json'],
    ['winning', winningRequest, '2KiB/a/witness-winning.json'],
    ['winning 32 GiB', winning32Request, '32GiB/witness-winning.json'],
  ]
  it.each(recorded)('has the recorded digests: %s', async (_, request, file) => {
    const expected: RecordedWitness[] = vectorJson(file).partitions
    expect(await checkAll(request(), true)).toEqual(
      expected.map(({ inputs_digest, aux_digest, products }) => ({
        failure: undefined,
        digests: { inputs: inputs_digest, aux: aux_digest, products },
      })),
    )
  })

  it.each([
    ['wpost-8m', () => syntheticWindowRequest('8m', 1)],
    ['wpost-512m', () => syntheticWindowRequest('512m', 2)],
    ['winning-8m', () => syntheticWinningRequest('8m')],
    ['winning-512m', () => syntheticWinningRequest('512m')],
    ['winning-64g', () => syntheticWinningRequest('64g')],
  ])('satisfies the circuit: %s', async (_, request) => {
    expect(await checkAll(request(), false)).toEqual([{ failure: undefined, digests: undefined }])
  })

  it.each([
    'wpost-2k',
    'wpost-8m',
    'wpost-512m',
    'winning-2k',
    'winning-32g',
    'winning-64g',
    'wpost-32g',
    'wpost-64g',
  ] as const)('has the sizes of the shape: %s', (circuitId) => {
    const { root, inputs } = circuitShape(circuitId)
    expect(postWitnessSizes(postGeometry(circuitId))).toEqual({
      inputsBytes: 32 * inputs,
      bitsBytes: 8 * Math.ceil(root.totals.bits / 64),
      wideBytes: 32 * root.totals.wide,
    })
  })
})
