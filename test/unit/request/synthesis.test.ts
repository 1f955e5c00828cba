import { describe, expect, it } from 'vitest'
import { copyPartitions } from '../../../src/request/partitions.ts'
import type { ProofRequest } from '../../../src/request/proof-request.ts'
import { validateRequest } from '../../../src/request/validate.ts'
import { bigintHasher } from '../../../src/synthesis/bigint-hasher.ts'
import { postGeometry } from '../../../src/synthesis/post-geometry.ts'
import { postWitnessSizes } from '../../../src/synthesis/post-witness.ts'
import { checkAndSynthesize, inspectPartition, SynthesisControl } from '../../../src/synthesis/synthesize-post.ts'
import {
  recordedPublicInputs,
  window3Request,
  windowRequest,
  winning32Request,
  winningRequest,
} from '../../support/fixtures.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const scalars = (bytes: Uint8Array): string[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => hex(bytes.subarray(32 * i, 32 * i + 32)))

describe('checkAndSynthesize', () => {
  const recorded: [string, () => ProofRequest, string][] = [
    ['window', windowRequest, '2KiB/a/witness-window.json'],
    ['window-3', window3Request, '2KiB/a/witness-window-3.json'],
    ['winning', winningRequest, '2KiB/a/witness-winning.json'],
    ['winning 32 GiB', winning32Request, '32GiB/witness-winning.json'],
  ]
  it.each(recorded)(
    'accepts the recorded vanilla proofs and gives their public inputs: %s',
    async (_, request, file) => {
      const validated = validateRequest(request())
      const sizes = postWitnessSizes(postGeometry(validated.circuitId))
      const partitions = await copyPartitions(validated)
      const expected = recordedPublicInputs(file)
      expect(partitions.length).toBe(expected.length)
      for (const [k, partition] of partitions.entries()) {
        inspectPartition(partition)
        const control = new SynthesisControl()
        const { inputs, bits, wide } = checkAndSynthesize(partition, bigintHasher, control)
        const one = `01${'0'.repeat(62)}`
        expect(scalars(inputs)).toEqual([one, ...(expected[k] as string[])])
        expect([inputs.length, bits.length, wide.length]).toEqual([sizes.inputsBytes, sizes.bitsBytes, sizes.wideBytes])
        for (const array of [inputs, bits, wide]) expect(array.buffer).toBeInstanceOf(SharedArrayBuffer)
        expect(control.sectorsDone).toBe(partition.places.length)
      }
    },
  )
})
