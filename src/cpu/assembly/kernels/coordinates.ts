/**
 * The field of a curve's coordinates: Fq for G1, Fq2 = Fq[u] / (u² + 1) for G2, seen as one or two elements of Fq, so
 * that the curve's kernels are written once. Additions are inlined; products are calls of memory-level functions that
 * {@link emitFq} and {@link emitFq2} make beside those of field-functions.ts:
 * - `mul_lazy(out, a, b)`: a may be a difference of two tidy values; Fq: not tidy, closed under repeated use; Fq2:
 *   tidy;
 * - `sqr_add(out, a, z)`, `mul_add(out, a, b, z)`: a²+z, ab+z, tidy; a as `mul_lazy` returns it, b a difference, z a
 *   sum.
 */
import type { FieldEmitter, Value } from './field.ts'
import type { FunctionBuilder, ModuleBuilder, WasmType } from './wat.ts'
import { get, i32, offset32 } from './wat.ts'

/** One value for each component: [c0] or [c0, c1]. */
export type Coordinate = readonly Value[]

export class CoordinateField {
  readonly name: string
  readonly field: FieldEmitter
  readonly components: 1 | 2
  /** Of `lanes` coordinates. */
  readonly blockBytes: number
  /** Of one coordinate of a point at rest. */
  readonly elementBytes: number

  constructor(field: FieldEmitter, components: 1 | 2) {
    this.name = components === 1 ? field.name : `${field.name}2`
    this.field = field
    this.components = components
    this.blockBytes = components * field.blockBytes
    this.elementBytes = components * field.elementBytes
  }

  load(f: FunctionBuilder, address: string, offset = 0): Coordinate {
    const { blockBytes, tidyBound } = this.field
    return this.#each((c) => this.field.load(f, address, offset + c * blockBytes, { bound: tidyBound }))
  }

  store(f: FunctionBuilder, address: string, value: Coordinate, offset = 0): void {
    value.forEach((part, c) => {
      this.field.store(f, address, part, offset + c * this.field.blockBytes)
    })
  }

  gather(f: FunctionBuilder, addresses: readonly string[], offset = 0): Coordinate {
    return this.#each((c) => this.field.gather(f, addresses, offset + c * this.field.elementBytes))
  }

  scatter(f: FunctionBuilder, addresses: readonly string[], value: Coordinate, offset = 0): void {
    value.forEach((part, c) => {
      this.field.scatter(f, addresses, part, offset + c * this.field.elementBytes)
    })
  }

  add(f: FunctionBuilder, a: Coordinate, b: Coordinate): Coordinate {
    return this.#each((c) => this.field.add(f, a[c] as Value, b[c] as Value))
  }

  sub(f: FunctionBuilder, a: Coordinate, b: Coordinate): Coordinate {
    return this.#each((c) => this.field.sub(f, a[c] as Value, b[c] as Value))
  }

  neg(f: FunctionBuilder, a: Coordinate): Coordinate {
    return this.#each((c) => this.field.neg(f, a[c] as Value))
  }

  negateIf(f: FunctionBuilder, conditions: readonly string[], a: Coordinate): Coordinate {
    return this.#each((c) => this.field.negateIf(f, conditions, a[c] as Value))
  }

  select(f: FunctionBuilder, bits: string, a: Coordinate, b: Coordinate): Coordinate {
    return this.#each((c) => this.field.select(f, bits, a[c] as Value, b[c] as Value))
  }

  /** Bits of the lanes that are 0, of a tidy value. */
  isZero(f: FunctionBuilder, a: Coordinate): string {
    return a.map((part) => this.field.isZero(f, part)).reduce((x, y) => `(i32.and ${x} ${y})`)
  }

  /** Address of a block with the Montgomery form of a constant. */
  constant(f: FunctionBuilder, value: readonly bigint[]): Coordinate {
    const { field } = this
    return this.#each((c) => {
      const address = field.constant(((value[c] ?? 0n) * field.radix) % field.modulus)
      return field.load(f, i32(address), 0, { bound: 1 })
    })
  }

  /** Calls one of the coordinate field's functions. */
  call(f: FunctionBuilder, operation: string, ...args: string[]): void {
    f.do(`(call $${this.name}_${operation} ${args.join(' ')})`)
  }

  #each(make: (component: number) => Value): Coordinate {
    return Array.from({ length: this.components }, (_, c) => make(c))
  }
}

const addresses = (...names: string[]): Record<string, WasmType> =>
  Object.fromEntries(names.map((name) => [name, 'i32']))

/**
 * What `mul_lazy` in Fq is closed under: with a and b at most B p, |ab|/R + 2.251 p ≤ B p. For fused doubles R = 9.84 p
 * and B = 3.6 gives 3.57; integers have room to spare. A product in `fq_mul_add` is tidied anyway.
 */
const LAZY_BOUND = { fma: 3.6, integer: 8 } as const

export function emitFq(module: ModuleBuilder, field: FieldEmitter): void {
  const { name } = field
  const bound = LAZY_BOUND[field.backend]
  module.func(`${name}_mul_lazy`, addresses('out', 'a', 'b'), (f) => {
    const a = field.load(f, get('a'), 0, { limb: 2, bound })
    const product = field.mul(f, a, field.load(f, get('b'), 0, { bound }))
    if (product.bound > bound) throw new Error(`${name}_mul_lazy is not closed: ${product.bound}`)
    field.store(f, get('out'), product)
  })
  module.func(`${name}_sqr_add`, addresses('out', 'a', 'z'), (f) => {
    const a = field.load(f, get('a'), 0, { bound })
    const addend = field.load(f, get('z'), 0, { limb: 2, bound: 6 })
    field.store(f, get('out'), field.sqr(f, a, { addend, tidy: true }))
  })
  module.func(`${name}_mul_add`, addresses('out', 'a', 'b', 'z'), (f) => {
    const a = field.load(f, get('a'), 0, { bound })
    const b = field.load(f, get('b'), 0, { limb: 2, bound })
    const addend = field.load(f, get('z'), 0, { limb: 2, bound: 6 })
    field.store(f, get('out'), field.mul(f, a, b, { addend, tidy: true }))
  })
}

/**
 * Fq2 by sums of two products with one reduction each: (a0 + a1 u)(b0 + b1 u) = (a0 b0 − a1 b1) + (a0 b1 + a1 b0) u,
 * and a² = (a0 + a1)(a0 − a1) + 2 a0 a1 u. All results are tidy.
 */
export function emitFq2(module: ModuleBuilder, field: FieldEmitter): void {
  const name = `${field.name}2`
  const { blockBytes, tidyBound } = field
  /** Of a difference of two tidy values, as `sub` returns it. */
  const wide = { limb: 2, bound: field.backend === 'fma' ? 2 * tidyBound : 4 }
  const tight = { limb: 1, bound: tidyBound }
  const addendBounds = { limb: 2, bound: 6 }
  type Bounds = typeof wide
  const pair = (f: FunctionBuilder, address: string, bounds: Bounds): [Value, Value] => [
    field.load(f, get(address), 0, bounds),
    field.load(f, get(address), blockBytes, bounds),
  ]
  const store = (f: FunctionBuilder, c0: Value, c1: Value): void => {
    field.store(f, get('out'), c0)
    field.store(f, get('out'), c1, blockBytes)
  }
  // Each component is a function of its own: larger ones are not optimised by older engines. c0 waits in scratch, since
  // `out` may be an input.
  const product = (suffix: string, aBounds: Bounds, bBounds: Bounds, withAddend: boolean): void => {
    const names = ['out', 'a', 'b', ...(withAddend ? ['z'] : [])]
    for (const component of [0, 1] as const) {
      module.func(`${name}_${suffix}_c${component}`, addresses(...names), (f) => {
        const [a0, a1] = pair(f, 'a', aBounds)
        const [b0, b1] = pair(f, 'b', bBounds)
        const addend = withAddend ? field.load(f, get('z'), component * blockBytes, addendBounds) : undefined
        const products: [Value, Value][] =
          component === 0
            ? [
                [a0, b0],
                [a1, field.neg(f, b1)],
              ]
            : [
                [a0, b1],
                [a1, b0],
              ]
        field.store(f, get('out'), field.sum(f, products, { tidy: true, addend }))
      })
    }
    module.func(`${name}_${suffix}`, addresses(...names), (f) => {
      const waiting = f.local('i32', offset32('(global.get $scratch)', PRODUCT_SCRATCH))
      const inputs = names.slice(1).map(get).join(' ')
      f.do(`(call $${name}_${suffix}_c0 ${get(waiting)} ${inputs})`)
      f.do(`(call $${name}_${suffix}_c1 ${offset32(get('out'), blockBytes)} ${inputs})`)
      for (let byte = 0; byte < blockBytes; byte += 16) {
        f.do(`(v128.store offset=${byte} ${get('out')} (v128.load offset=${byte} ${get(waiting)}))`)
      }
    })
  }
  product('mul', tight, tight, false)
  product('mul_lazy', wide, tight, false)
  product('mul_add', tight, wide, true)
  for (const [suffix, withAddend] of [
    ['sqr', false],
    ['sqr_add', true],
  ] as const) {
    module.func(`${name}_${suffix}`, addresses('out', 'a', ...(withAddend ? ['z'] : [])), (f) => {
      const [a0, a1] = pair(f, 'a', tight)
      const addend = (offset: number): Value | undefined =>
        withAddend ? field.load(f, get('z'), offset, addendBounds) : undefined
      const c0 = field.mul(f, field.add(f, a0, a1), field.sub(f, a0, a1), { tidy: true, addend: addend(0) })
      const c1 = field.mul(f, field.add(f, a0, a0), a1, { tidy: true, addend: addend(blockBytes) })
      store(f, c0, c1)
    })
  }
  for (const operation of ['add', 'sub', 'neg', 'tidy'] as const) {
    const inputs = operation === 'add' || operation === 'sub' ? ['a', 'b'] : ['a']
    module.func(`${name}_${operation}`, addresses('out', ...inputs), (f) => {
      for (const bytes of [0, blockBytes]) {
        f.do(
          `(call $${field.name}_${operation} ${offset32(get('out'), bytes)} ${inputs.map((input) => offset32(get(input), bytes)).join(' ')})`,
        )
      }
    })
  }
  module.func(
    `${name}_is_zero`,
    addresses('a'),
    (f) => {
      const part = (bytes: number): string => `(call $${field.name}_is_zero ${offset32(get('a'), bytes)})`
      f.do(`(i32.and ${part(0)} ${part(blockBytes)})`)
    },
    'i32',
  )
  // 1 / (a0 + a1 u) = (a0 − a1 u) / (a0² + a1²); 0 for 0.
  module.func(`${name}_inv`, addresses('out', 'a'), (f) => {
    const norm = f.local('i32', offset32('(global.get $scratch)', INVERSION_SCRATCH))
    const [a0, a1] = pair(f, 'a', tight)
    field.store(
      f,
      get(norm),
      field.sum(
        f,
        [
          [a0, a0],
          [a1, a1],
        ],
        { tidy: true },
      ),
    )
    f.do(`(call $${field.name}_inv ${get(norm)} ${get(norm)})`)
    const inverse = field.load(f, get(norm), 0, tight)
    store(f, field.mul(f, a0, inverse, { tidy: true }), field.mul(f, field.neg(f, a1), inverse, { tidy: true }))
  })
}

/** In scratch, above what an inversion in Fq uses: a block each. */
const PRODUCT_SCRATCH = 0xe00
const INVERSION_SCRATCH = 0xf00
