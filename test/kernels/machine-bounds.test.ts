/**
 * A damaged image or piece makes `circuit.wasm` trap or compute nonsense, but never write outside the areas it was
 * given.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { auxVariable, type CircuitShape, type Template } from '../../src/circuit/shape.ts'
import { serializeShape } from '../../src/cpu/circuit-machine/image.ts'
import { MODE } from '../../src/cpu/circuit-machine/module.ts'
import { planCircuit } from '../../src/cpu/circuit-machine/pieces.ts'
import { CONTEXT_BYTES, placeBytes } from '../../src/cpu/circuit-machine/tables.ts'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'
import { tinyCircuit } from '../support/tiny-circuit.ts'

const GUARD_BYTES = 8192
const SCRATCH_BYTES = 65_536
/** The first word of an image's root template counts from here; images start with templates of 16 words. */
const PATTERN = 0x5a

const machine = new CircuitMachine()
const { exports, memory, arena } = machine
const shape = circuitShape('winning-2k')
const circuit = machine.load(shape)
const keys = shape.inputs + shape.aux
const pieces = planCircuit(shape, circuit.image, 1 << 20).sections.flatMap((section) => section.pieces)

interface Area {
  readonly at: number
  readonly bytes: number
}

/** A block with a guard on both sides. */
function area(bytes: number): Area {
  const at = arena.allocate(bytes + 2 * GUARD_BYTES)
  new Uint8Array(memory.buffer, at, bytes + 2 * GUARD_BYTES).fill(PATTERN)
  return { at: at + GUARD_BYTES, bytes }
}

const scratch = area(SCRATCH_BYTES)
const z = area(32 * keys)
const a = area(32 * shape.constraints)
const b = area(32 * shape.constraints)
const context = area(CONTEXT_BYTES)
const piece = area(4096)
const { bits, wide } = shape.root.totals
const bitsArea = area(bits)
const wideArea = area(32 * wide)
const areas = [scratch, z, a, b, context, piece, bitsArea, wideArea]

function expectGuards(): void {
  for (const { at, bytes } of areas) {
    for (const guard of [at - GUARD_BYTES, at + bytes]) {
      expect(new Uint8Array(memory.buffer, guard, GUARD_BYTES).every((byte) => byte === PATTERN)).toBe(true)
    }
  }
}

/** Walks a piece; an exception of WebAssembly is one allowed outcome. */
function attempt(words: Uint32Array, mode: number): 'done' | 'trap' {
  exports.bindScratch(scratch.at, scratch.bytes)
  exports.bindContext(context.at)
  exports.bindRows(a.at, b.at)
  placeBytes(memory, piece.at, words)
  try {
    exports.walkPiece(piece.at, mode)
    return 'done'
  } catch (error) {
    expect(error).toSatisfy((e) => e instanceof WebAssembly.RuntimeError || e instanceof RangeError)
    return 'trap'
  }
}

beforeAll(() => {
  for (const { at, bytes } of [bitsArea, wideArea, z]) new Uint8Array(memory.buffer, at, bytes).fill(0)
  circuit.writeContext(context.at, {
    fixedBase: z.at,
    fixedKeys: keys,
    bits: bitsArea.at,
    bitCount: bits,
    wide: wideArea.at,
    wideCount: wide,
  })
})

describe('a piece', () => {
  const whole = pieces.at(-1)?.words as Uint32Array

  it('walks as it is', () => {
    expect(pieces).toHaveLength(1)
    expect(attempt(whole, MODE.expand)).toBe('done')
    expect(attempt(whole, MODE.rows)).toBe('done')
    expectGuards()
  })

  it.each([
    ['more steps than the template has', 2, 10_000],
    ['aux variables behind the last', 5, keys],
    ['bits behind the last', 8, bits],
    ['wide scalars behind the last', 9, wide],
    ['more wires than the stack holds', 12, 1 << 20],
    ['so many wires that their size wraps around', 12, 0x4000_0001],
  ] as const)('with %s traps', (_, word, value) => {
    const damaged = whole.slice()
    damaged[word] = value
    expect(attempt(damaged, MODE.expand)).toBe('trap')
    expectGuards()
  })

  it.each([shape.constraints, 0xffff_ffff])('with rows from %i on traps', (row) => {
    const damaged = whole.slice()
    damaged[7] = row
    expect(attempt(damaged, MODE.rows)).toBe('trap')
    expectGuards()
  })

  it('that reads values outside its areas traps', () => {
    circuit.writeContext(context.at, { fixedBase: z.at, fixedKeys: keys - 1 })
    expect(attempt(whole, MODE.rows)).toBe('trap')
    circuit.writeContext(context.at, {
      fixedBase: z.at,
      fixedKeys: 10,
      windowBase: z.at,
      windowFirst: 20,
      windowKeys: 10,
    })
    expect(attempt(whole, MODE.rows)).toBe('trap')
    expectGuards()
  })
})

describe('an image', () => {
  it('with any word of its structure damaged does no harm', () => {
    const tiny = tinyCircuit()
    const loaded = machine.load(tiny)
    const fields = {
      fixedBase: z.at,
      fixedKeys: tiny.inputs + tiny.aux,
      bits: bitsArea.at,
      bitCount: 1,
      wide: wideArea.at,
      wideCount: 1,
    }
    loaded.writeContext(context.at, fields)
    const imageAt = new Uint32Array(memory.buffer, context.at, 1)[0] as number
    const words = planCircuit(tiny, loaded.image, 100).sections.flatMap((section) => section.pieces)[1]
      ?.words as Uint32Array
    let traps = 0
    for (const [i, word] of loaded.image.words.entries()) {
      for (const value of [0xffff_ffff, word + 1, word * 2, word ^ 0x4000_0000, word ^ 0x8000_0000, 1 << 16]) {
        const image = new Uint32Array(memory.buffer, imageAt, loaded.image.words.length)
        image[i] = value
        for (const mode of [MODE.expand, MODE.rows]) if (attempt(words, mode) === 'trap') traps++
        image[i] = word
      }
    }
    expect(traps).toBeGreaterThan(100)
    expect(attempt(words, MODE.expand)).toBe('done')
    expectGuards()
    loaded.release()
  })
})

describe('a shape that contradicts itself is refused', () => {
  const tiny = tinyCircuit()
  const { root } = tiny
  const withRoot = (change: Partial<Template>): Pick<CircuitShape, 'root' | 'coefficients'> => ({
    root: { ...root, ...change },
    coefficients: tiny.coefficients,
  })
  const matrixWith = (change: Partial<Template['matrix']>): Partial<Template> => ({
    matrix: { ...root.matrix, ...change },
  })

  it.each([
    ['totals', withRoot({ totals: { ...root.totals, aux: root.totals.aux + 1 } }), 'its totals say'],
    [
      'variables',
      withRoot(matrixWith({ termVariable: root.matrix.termVariable.map(() => auxVariable(99)) })),
      'out of range',
    ],
    ['coefficients', { root, coefficients: [] }, 'a coefficient is out of range'],
    ['terms', withRoot(matrixWith({ termStart: root.matrix.termStart.map((at) => at + 1) })), 'terms are missing'],
    ['definitions', withRoot(matrixWith({ defines: root.matrix.defines.map(() => 0) })), 'can’t define'],
    [
      'wires',
      withRoot({ steps: root.steps.map((s) => (s.kind === 'child' ? { ...s, wires: new Uint32Array(0) } : s)) }),
      'wrong wires',
    ],
  ])('in its %s', (_, bad, message) => {
    expect(() => serializeShape(bad)).toThrow(message.replace('’', "'"))
  })
})
