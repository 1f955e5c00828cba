/**
 * Kernels of the curves y² = x³ + b over a {@link CoordinateField}: G1 (b = 4 over Fq) and G2 (b = 4 (1 + u) over Fq2).
 *
 * Points at rest are affine: x then y, one point by itself, `pointBytes` = 128 or 256, tidy Montgomery digits. Infinity
 * is x = y = 0: the curves have odd order, so y is never 0 on a point. Functions take one address a lane (`a0, a1` or
 * `a0`).
 *
 * `<g>_import(in0[, in1], out0[, out1])`: uncompressed big-endian → points; bit j of the result: a coordinate of lane j
 * is not below p (which every flag makes it); bit 2 + j: the point is not on the curve.
 * `<g>_export(in0[, in1], out0[, out1])`: the inverse; infinity becomes 0x40, 0, 0, …. `<g>_lift(out, a0[, a1])`,
 * `<g>_lower(p, out0[, out1])`: affine points ↔ a block of projective X, Y, Z (lanes interleaved).
 * `<g>_padd(out, p, q)`: complete projective addition (Renes, Costello, Batina, "Complete addition formulas for prime
 * order elliptic curves", algorithm 7): right for all inputs, P = ±Q and infinity included. Batch-affine additions are
 * in batch.ts.
 */
import type { Coordinate, CoordinateField } from './coordinates.ts'
import { FIELD_SCRATCH_BYTES } from './field-functions.ts'
import type { FunctionBuilder, ModuleBuilder, WasmType } from './wat.ts'
import { get, i32, i64, offset32 } from './wat.ts'

export interface CurveKernels {
  readonly name: 'g1' | 'g2'
  readonly coordinates: CoordinateField
  /** Components of b. */
  readonly b: readonly bigint[]
}

/** Bytes of one coordinate component in the encoding. */
const COMPONENT_BYTES = 48
/** Where in scratch this file's functions keep what they need; 16 KiB. */
const CURVE_SCRATCH: number = FIELD_SCRATCH_BYTES
/** Reverses the bytes of a vector. */
const REVERSE = '15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0'

export function emitCurve(module: ModuleBuilder, curve: CurveKernels): void {
  emitImport(module, curve)
  emitExport(module, curve)
  emitProjective(module, curve)
}

const laneNames = (curve: CurveKernels, name: string): string[] =>
  Array.from({ length: curve.coordinates.field.lanes }, (_, lane) => `${name}${lane}`)

const parameters = (names: readonly string[]): Record<string, WasmType> =>
  Object.fromEntries(names.map((name) => [name, 'i32']))

const scratch = (bytes: number): string => offset32('(global.get $scratch)', CURVE_SCRATCH + bytes)

/** Copies 48 bytes in reversed order. */
function reverseBytes(f: FunctionBuilder, to: string, from: string): void {
  for (let i = 0; i < COMPONENT_BYTES; i += 16) {
    const part = f.local('v128', `(v128.load offset=${i} align=1 ${from})`)
    f.do(
      `(v128.store offset=${COMPONENT_BYTES - 16 - i} align=1 ${to} (i8x16.shuffle ${REVERSE} ${get(part)} ${get(part)}))`,
    )
  }
}

/** An i32 expression: whether the little-endian integer at an address is below the modulus. */
function isBelow(f: FunctionBuilder, address: string, modulus: bigint): string {
  const borrow = f.local('i32', i32(0))
  for (let word = 0; word < COMPONENT_BYTES / 8; word++) {
    const value = f.local('i64', `(i64.load offset=${8 * word} align=1 ${address})`)
    const limit = i64(BigInt.asIntN(64, modulus >> BigInt(64 * word)))
    f.set(borrow, `(select (i64.lt_u ${get(value)} ${limit}) ${get(borrow)} (i64.ne ${get(value)} ${limit}))`)
  }
  return get(borrow)
}

function emitImport(module: ModuleBuilder, curve: CurveKernels): void {
  const { coordinates: c } = curve
  const { field } = c
  const inputs = laneNames(curve, 'in')
  const outputs = laneNames(curve, 'out')
  const toMontgomery = field.constant((field.radix * field.radix) % field.modulus)
  module.func(
    `${curve.name}_import`,
    parameters([...inputs, ...outputs]),
    (f) => {
      const bad = f.local('i32', i32(0))
      // Components come most significant first: x.c1, x.c0, y.c1, y.c0.
      const parts = [0, 1].map(
        (coordinate): Coordinate =>
          Array.from({ length: c.components }, (_, component) => {
            const position = (coordinate + 1) * c.components - 1 - component
            const plain = inputs.map((input, lane) => {
              const address = f.local('i32', scratch(64 * lane))
              reverseBytes(f, get(address), offset32(get(input), COMPONENT_BYTES * position))
              const refused = `(i32.shl (i32.eqz ${isBelow(f, get(address), field.modulus)}) ${i32(lane)})`
              f.set(bad, `(i32.or ${get(bad)} ${refused})`)
              return get(address)
            })
            const factor = field.load(f, i32(toMontgomery), 0, { bound: 1 })
            return field.mul(f, field.importBytes(f, plain), factor, { tidy: true })
          }),
      )
      const [x, y] = parts as [Coordinate, Coordinate]
      c.scatter(f, outputs.map(get), x)
      c.scatter(f, outputs.map(get), y, c.elementBytes)
      // y² − x³ − b
      const block = (k: number): string => scratch(256 + k * c.blockBytes)
      c.store(f, block(0), x)
      c.store(f, block(1), y)
      c.store(f, block(3), c.constant(f, curve.b))
      c.call(f, 'tidy', block(3), block(3))
      c.call(f, 'sqr', block(2), block(0))
      c.call(f, 'mul', block(2), block(2), block(0))
      c.call(f, 'add', block(2), block(2), block(3))
      c.call(f, 'sqr', block(3), block(1))
      c.call(f, 'sub', block(2), block(2), block(3))
      const off = `(i32.xor (call $${c.name}_is_zero ${block(2)}) ${i32(2 ** field.lanes - 1)})`
      f.do(`(i32.or ${get(bad)} (i32.shl ${off} (i32.const 2)))`)
    },
    'i32',
  )
}

function emitExport(module: ModuleBuilder, curve: CurveKernels): void {
  const { coordinates: c } = curve
  const { field } = c
  const inputs = laneNames(curve, 'in')
  const outputs = laneNames(curve, 'out')
  const one = field.constant(1n)
  module.func(`${curve.name}_export`, parameters([...inputs, ...outputs]), (f) => {
    const infinite = f.local('i32')
    for (const coordinate of [0, 1]) {
      const value = c.gather(f, inputs.map(get), coordinate * c.elementBytes)
      if (coordinate === 1) f.set(infinite, c.isZero(f, value))
      value.forEach((part, component) => {
        const position = (coordinate + 1) * c.components - 1 - component
        const plain = field.mul(f, part, field.load(f, i32(one), 0, { bound: 1 }), { tidy: true })
        const words = outputs.map((_, lane) => f.local('i32', scratch(64 * lane)))
        field.exportBytes(f, plain, words.map(get))
        outputs.forEach((output, lane) => {
          reverseBytes(f, offset32(get(output), COMPONENT_BYTES * position), get(words[lane] as string))
        })
      })
    }
    outputs.forEach((output, lane) => {
      f.if(`(i32.and ${get(infinite)} ${i32(1 << lane)})`, () => f.do(`(i32.store8 ${get(output)} (i32.const 0x40))`))
    })
  })
}

function emitProjective(module: ModuleBuilder, curve: CurveKernels): void {
  const { coordinates: c } = curve
  const size = c.blockBytes
  const points = laneNames(curve, 'a')
  module.func(`${curve.name}_lift`, parameters(['out', ...points]), (f) => {
    const y = c.gather(f, points.map(get), c.elementBytes)
    const infinite = f.local('i32', c.isZero(f, y))
    const one = c.constant(f, [1n])
    const zero = c.constant(f, [])
    c.store(f, get('out'), c.gather(f, points.map(get)))
    c.store(f, get('out'), c.select(f, infinite, one, y), size)
    c.store(f, get('out'), c.select(f, infinite, zero, one), 2 * size)
    for (const coordinate of [1, 2]) {
      const address = offset32(get('out'), coordinate * size)
      c.call(f, 'tidy', address, address)
    }
  })

  const outputs = laneNames(curve, 'out')
  module.func(`${curve.name}_lower`, parameters(['p', ...outputs]), (f) => {
    const inverse = f.local('i32', scratch(0))
    const product = f.local('i32', scratch(size))
    c.call(f, 'inv', get(inverse), offset32(get('p'), 2 * size))
    for (const coordinate of [0, 1]) {
      c.call(f, 'mul', get(product), offset32(get('p'), coordinate * size), get(inverse))
      c.scatter(f, outputs.map(get), c.load(f, get(product)), coordinate * c.elementBytes)
    }
  })

  const tripleB = f3(curve.b)
  module.func(`${curve.name}_padd`, parameters(['out', 'p', 'q']), (f) => {
    const t = Array.from({ length: 9 }, (_, k) => get(f.local('i32', scratch(k * size))))
    const [t0, t1, t2, t3, t4, t5, x3, y3, b3] = t as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    const [x1, y1, z1] = [0, 1, 2].map((k) => offset32(get('p'), k * size)) as [string, string, string]
    const [x2, y2, z2] = [0, 1, 2].map((k) => offset32(get('q'), k * size)) as [string, string, string]
    const z3 = t5
    const op = (operation: 'mul' | 'add' | 'sub', out: string, a: string, b: string): void =>
      c.call(f, operation, out, a, b)
    c.store(f, b3, c.constant(f, tripleB))
    c.call(f, 'tidy', b3, b3)
    op('mul', t0, x1, x2)
    op('mul', t1, y1, y2)
    op('mul', t2, z1, z2)
    // t3 = x1 y2 + x2 y1, t4 = y1 z2 + y2 z1, y3 = x1 z2 + x2 z1
    for (const [out, a, b, c1, d, p, q] of [
      [t3, x1, y1, x2, y2, t0, t1],
      [t4, y1, z1, y2, z2, t1, t2],
      [y3, x1, z1, x2, z2, t0, t2],
    ] as const) {
      op('add', out, a, b)
      op('add', x3, c1, d)
      op('mul', out, out, x3)
      op('add', x3, p, q)
      op('sub', out, out, x3)
    }
    op('add', x3, t0, t0)
    op('add', t0, x3, t0)
    op('mul', t2, b3, t2)
    op('add', z3, t1, t2)
    op('sub', t1, t1, t2)
    op('mul', y3, b3, y3)
    op('mul', x3, t4, y3)
    op('mul', t2, t3, t1)
    op('sub', get('out'), t2, x3)
    op('mul', y3, y3, t0)
    op('mul', t1, t1, z3)
    op('add', offset32(get('out'), size), t1, y3)
    op('mul', t0, t0, t3)
    op('mul', z3, z3, t4)
    op('add', offset32(get('out'), 2 * size), z3, t0)
  })
}

const f3 = (b: readonly bigint[]): bigint[] => b.map((part) => 3n * part)
