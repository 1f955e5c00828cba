/** Witnesses of a real seal: expanded and evaluated, they have the digests that the reference prover recorded. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { planCompression, VARIABLE_WORD, type WordForm } from '../../src/circuit/gadgets/sha256-bits.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { BitWriter } from '../../src/synthesis/bit-writer.ts'
import { porepGeometry } from '../../src/synthesis/porep/porep-geometry.ts'
import type { PorepPartition } from '../../src/synthesis/porep/porep-partition.ts'
import { PorepWitnessWriter } from '../../src/synthesis/porep/porep-witness.ts'
import { bitsOfPlan, flatPlan, writeCompression } from '../../src/synthesis/sha256-witness.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { porepRequest } from '../support/porep.ts'
import { fillCompression } from '../support/sha256-bits.ts'
import { vectorJson } from '../support/vectors.ts'

const hasher = new WasmPoseidonHasher()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }
const CIRCUITS = ['porep-2k', 'porep-8m', 'porep-512m', 'porep-32g', 'porep-64g'] as const

describe('the witness of a PoRep', () => {
  it('has the recorded digests', async () => {
    const [partition] = (await takeOver(validateRequest(porepRequest()))) as [PorepPartition]
    const witness = await checkAndSynthesize(partition, hasher, idle)
    for (const array of [witness.inputs, witness.bits, witness.wide]) {
      expect(array.buffer).toBeInstanceOf(SharedArrayBuffer)
    }
    const machine = new CircuitMachine()
    const circuit = machine.load(circuitShape('porep-2k'))
    const [recorded] = vectorJson('2KiB/a/witness-porep.json').partitions
    expect(await machine.check(circuit, witness, { digests: true })).toEqual({
      failure: undefined,
      digests: { inputs: recorded.inputs_digest, aux: recorded.aux_digest, products: recorded.products },
    })
    circuit.release()
  })

  it.each(CIRCUITS)('has the sizes of the shape: %s', (circuitId) => {
    const { root, inputs } = circuitShape(circuitId)
    expect(new PorepWitnessWriter(porepGeometry(circuitId)).sizes()).toEqual({
      inputsBytes: 32 * inputs,
      bitsBytes: 8 * Math.ceil(root.totals.bits / 64),
      wideBytes: 32 * root.totals.wide,
    })
  })

  it('stops between slices with the reason of the abort', async () => {
    const [partition] = (await takeOver(validateRequest(porepRequest()))) as [PorepPartition]
    const controller = new AbortController()
    const reason = new Error('no longer wanted')
    // A hasher that takes its time: each challenge is longer than a slice.
    const slow: typeof hasher.hash = (arity, preimages, digests) => {
      const until = performance.now() + 20
      while (performance.now() < until);
      hasher.hash(arity, preimages, digests)
    }
    const run: Run = { signal: controller.signal, unit: () => controller.abort(reason) }
    await expect(checkAndSynthesize(partition, { hash: slow }, run)).rejects.toBe(reason)
  })
})

describe('bits of a compression', () => {
  const form = fc.oneof(
    fc.constant(VARIABLE_WORD),
    fc.record({ variables: fc.nat(0xffff_ffff), value: fc.nat(0xffff_ffff) }),
    fc.nat(0xffff_ffff).map((value): WordForm => ({ variables: 0, value })),
  )

  it('are those of the plain reference, for words of any form', () => {
    fc.assert(
      fc.property(
        fc.array(form, { minLength: 24, maxLength: 24 }),
        fc.array(fc.nat(0xffff_ffff), { minLength: 24, maxLength: 24 }),
        fc.nat(40),
        (forms, random, before) => {
          const words = forms.map(
            ({ variables, value }, i) => (((random[i] as number) & variables) | (value & ~variables)) >>> 0,
          )
          const plan = planCompression(forms.slice(0, 8), forms.slice(8))
          const expected: number[] = new Array<number>(before).fill(0)
          const state = fillCompression(plan, words.slice(0, 8), words.slice(8), (bit) => expected.push(bit))

          const flat = flatPlan(forms.slice(0, 8), forms.slice(8))
          expect(bitsOfPlan(flat)).toBe(plan.bits)
          const bits = new Uint32Array(Math.ceil((before + plan.bits) / 32))
          const writer = new BitWriter(bits)
          for (let i = 0; i < before; i++) writer.put(0, 1)
          const message = Buffer.alloc(64)
          for (const [i, word] of words.slice(8).entries()) message.writeUInt32BE(word, 4 * i)
          const found = Uint32Array.from(words.slice(0, 8))
          writeCompression(flat, found, message, 0, writer)
          expect([...found]).toEqual(state)
          expect(writer.length).toBe(expected.length)
          expect(expected.map((_, i) => ((bits[i >>> 5] as number) >>> (i & 31)) & 1)).toEqual(expected)
        },
      ),
      { numRuns: 6 },
    )
  })
})

describe('a writer of bits', () => {
  it('appends as one bit after another would', () => {
    const pieces = fc.array(fc.record({ value: fc.nat(0xffff_ffff), mask: fc.nat(0xffff_ffff), count: fc.nat(32) }))
    fc.assert(
      fc.property(pieces, (list) => {
        const expected: number[] = []
        const words = new Uint32Array(2 * list.length + 1)
        const writer = new BitWriter(words)
        for (const { value, mask, count } of list) {
          const low = count === 32 ? value : value % 2 ** count
          writer.put(low, count)
          for (let i = 0; i < count; i++) expected.push((low >>> i) & 1)
          writer.putMasked(value, mask)
          for (let i = 0; i < 32; i++) if ((mask >>> i) & 1) expected.push((value >>> i) & 1)
        }
        expect(writer.length).toBe(expected.length)
        expect(expected.map((_, i) => ((words[i >>> 5] as number) >>> (i & 31)) & 1)).toEqual(expected)
      }),
    )
  })
})
