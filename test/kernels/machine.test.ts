/**
 * The walker of `circuit.wasm` on small circuits, against walks on bigints, and on real PoSt partitions, against the
 * reference.
 */
import { describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { circuitDigest } from '../../src/circuit/digest.ts'
import { allocateNum } from '../../src/circuit/gadgets/num.ts'
import { poseidon } from '../../src/circuit/gadgets/poseidon.ts'
import { LinearCombination } from '../../src/circuit/linear-combination.ts'
import type { CircuitShape, CompactWitness, Variable } from '../../src/circuit/shape.ts'
import { walkRows } from '../../src/circuit/walk-rows.ts'
import { serializeShape } from '../../src/cpu/circuit-machine/image.ts'
import { independentCuts, planCircuit } from '../../src/cpu/circuit-machine/pieces.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { SynthesisError } from '../../src/errors.ts'
import { FR_MODULUS, frFromBytes, frToBytes } from '../../src/field/fr.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { WindowPostRequest, WinningPostRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { openPartition } from '../../src/synthesis/post-partition.ts'
import { fillPostWitness } from '../../src/synthesis/post-witness.ts'
import { assign, firstUnsatisfied, gadgetShape, referenceHasher } from '../support/circuits.ts'
import { window3Request, windowRequest } from '../support/fixtures.ts'
import { forestShape, forestWitness } from '../support/forest-circuit.ts'
import { tinyCircuit, tinyWitness } from '../support/tiny-circuit.ts'
import { vectorJson } from '../support/vectors.ts'

const machine = new CircuitMachine()
const idle: Run = { signal: new AbortController().signal, unit: () => {} }

async function witnessesOf(request: WindowPostRequest | WinningPostRequest): Promise<CompactWitness[]> {
  const partitions = await takeOver(validateRequest(request))
  return Promise.all(partitions.map((partition) => fillPostWitness(openPartition(partition), idle)))
}

function copyOf({ inputs, bits, wide }: CompactWitness): { inputs: Uint8Array; bits: Uint8Array; wide: Uint8Array } {
  return { inputs: Uint8Array.from(inputs), bits: Uint8Array.from(bits), wide: Uint8Array.from(wide) }
}

const scalarsOf = (bytes: Uint8Array): bigint[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => frFromBytes(bytes, 32 * i))

describe('on small circuits', () => {
  const circuits: [string, CircuitShape, CompactWitness][] = [
    ['tiny', tinyCircuit(), tinyWitness(3n, 1)],
    ['tiny at r − 1', tinyCircuit(), tinyWitness(FR_MODULUS - 1n, 0)],
    ['forest', forestShape(), forestWitness()],
  ]

  it.each(circuits)('hashes rows like the reference walker: %s', async (_, shape) => {
    for (const every of [undefined, 1, 7]) {
      expect(await circuitDigest(shape, machine, { every })).toEqual(
        await circuitDigest(shape, referenceHasher, { every }),
      )
    }
  })

  it.each(circuits)('derives the same assignment, and every row holds: %s', async (_, shape, witness) => {
    const circuit = machine.load(shape)
    const { inputs, aux } = assign(shape, witness)
    expect(firstUnsatisfied(shape, { inputs, aux })).toBe(-1)
    expect(scalarsOf(await machine.expand(circuit, witness))).toEqual([...inputs, ...aux])
    expect((await machine.check(circuit, witness)).failure).toBeUndefined()
    circuit.release()
  })

  it('finds the same first failing row as the bigint checker, for every flipped bit and changed scalar', async () => {
    const [, shape, witness] = circuits[2] as [string, CircuitShape, CompactWitness]
    const circuit = machine.load(shape)
    const { bits, wide } = shape.root.totals
    const changes: ((copy: ReturnType<typeof copyOf>) => void)[] = [
      ...Array.from({ length: bits }, (_, i) => (copy: ReturnType<typeof copyOf>) => {
        copy.bits[i >> 3] = (copy.bits[i >> 3] as number) ^ (1 << (i & 7))
      }),
      // Other leaves and siblings only make other hashes; scalar 0 is an input as well.
      ...[0].map((i) => (copy: ReturnType<typeof copyOf>) => copy.wide.set(frToBytes(5n), 32 * i)),
      ...[1, 2, 3].map((i) => (copy: ReturnType<typeof copyOf>) => copy.inputs.set(frToBytes(6n), 32 * i)),
    ]
    expect(wide).toBe(25)
    for (const change of changes) {
      const copy = copyOf(witness)
      change(copy)
      const expected = firstUnsatisfied(shape, assign(shape, copy))
      const { failure } = await machine.check(circuit, copy)
      expect(failure?.row).toBe(expected)
      expect(expected).toBeGreaterThanOrEqual(0)
    }
    circuit.release()
  })

  it('names template and instance of a failing row', async () => {
    const [, shape, witness] = circuits[2] as [string, CircuitShape, CompactWitness]
    const circuit = machine.load(shape)
    const copy = copyOf(witness)
    copy.bits[0] = (copy.bits[0] as number) ^ (1 << 4)
    const { failure } = await machine.check(circuit, copy)
    expect(failure).toMatchObject({ template: 'tree', path: 'tree[1]' })
    const places: string[] = []
    walkRows(shape, ({ index, template }) => places.push(`${index} ${template.name}`))
    expect(places).toContain(`${failure?.row} ${failure?.template}`)
    circuit.release()
  })

  it('refuses a witness of other lengths, and one that is not canonical', async () => {
    const [, shape, witness] = circuits[2] as [string, CircuitShape, CompactWitness]
    const circuit = machine.load(shape)
    const short = { ...copyOf(witness), wide: witness.wide.subarray(32) }
    await expect(machine.check(circuit, short)).rejects.toThrow(SynthesisError)
    const odd = copyOf(witness)
    odd.wide.fill(0xff, 64, 96)
    await expect(machine.check(circuit, odd)).rejects.toThrow('Scalar 2 of the witness (wide) is not below r')
    const two = copyOf(witness)
    two.inputs[0] = 2
    await expect(machine.check(circuit, two)).rejects.toThrow('Input 0 of the witness is not 1')
    circuit.release()
  })

  it('stops when the signal aborts, and gives all memory back', async () => {
    const shape = circuitShape('winning-2k')
    const before = machine.arena.usedBytes
    const controller = new AbortController()
    const reason = new Error('enough')
    const run: Run = { signal: controller.signal, unit: () => controller.abort(reason) }
    await expect(machine.hashRows(shape, new Uint8Array(24), undefined, run)).rejects.toBe(reason)
    expect(machine.arena.usedBytes).toBe(before)
  })
})

describe('a circuit is cut', () => {
  it('between instances that read only the root’s first variables', () => {
    const { cuts, commonAux, commonSteps } = independentCuts(forestShape().root)
    // The shared variable, its input and its row; then three trees.
    expect([commonAux, commonSteps, [...cuts].sort()]).toEqual([1, 3, [3, 4, 5]])
  })

  it('not where a later step reads what an earlier instance made', () => {
    // x⁴ = (x²)²: the second square reads the first, and the last row reads both.
    const { cuts, commonAux } = independentCuts(tinyCircuit().root)
    expect([commonAux, cuts.size]).toEqual([2, 1])
  })

  it('nowhere if a first variable is defined late', () => {
    const shape = gadgetShape((cs) => {
      const late = cs.allocate('derived')
      const x = allocateNum(cs)
      const hash = (): Variable =>
        poseidon(cs, [x, cs.template('num', {}, (b) => ({ nums: [allocateNum(b)] })).nums[0] as Variable])
      const [h] = [hash(), hash()]
      cs.enforce(LinearCombination.of(h), LinearCombination.of(h), LinearCombination.of(late), late)
    })
    expect(independentCuts(shape.root).cuts.size).toBe(0)
  })

  it('into pieces that add up to it', () => {
    for (const shape of [forestShape(), circuitShape('winning-2k')]) {
      for (const rows of [1, 100, 5000, 1e6]) {
        let [row, aux] = [0, 0]
        for (const piece of planCircuit(shape, serializeShape(shape), rows).sections.flatMap(({ pieces }) => pieces)) {
          expect([piece.firstRow, piece.firstAux]).toEqual([row, aux])
          row += piece.rows
          aux += piece.aux
        }
        expect([row, aux]).toEqual([shape.constraints, shape.aux])
      }
    }
  })
})

describe('on PoSt circuits', () => {
  it.each([undefined, 1])('gives the recorded witness digests, with %s rows a section', async (rowsPerSection) => {
    const circuit = machine.load(circuitShape('wpost-2k'))
    const witnesses = await witnessesOf(window3Request())
    const { partitions } = vectorJson('2KiB/a/witness-window-3.json')
    expect(witnesses).toHaveLength(partitions.length)
    for (const [k, witness] of witnesses.entries()) {
      const { failure, digests } = await machine.check(circuit, witness, { digests: true, rowsPerSection })
      const { inputs_digest, aux_digest, products } = partitions[k]
      expect(failure).toBeUndefined()
      expect(digests).toEqual({ inputs: inputs_digest, aux: aux_digest, products })
    }
    circuit.release()
  })

  it('finds a flipped index bit in its sector and challenge', async () => {
    const shape = circuitShape('wpost-2k')
    const circuit = machine.load(shape)
    const [witness] = (await witnessesOf(windowRequest())) as [CompactWitness]
    const copy = copyOf(witness)
    // Sector 1, challenge 4: 6 bits a leaf number, 10 challenges a sector.
    const bit = (10 + 4) * 6 + 2
    copy.bits[bit >> 3] = (copy.bits[bit >> 3] as number) ^ (1 << (bit & 7))
    const { failure } = await machine.check(circuit, copy)
    expect(failure?.path).toMatch(/^post-sector\[1\]\/post-challenge\[5\]/)
    circuit.release()
  })
})
