/**
 * Batch-affine additions: many independent sums P + Q with one inversion (Montgomery's trick). An affine addition is
 *     λ = (y2 − y1) / (x2 − x1),  x3 = λ² − x1 − x2,  y3 = λ (x1 − x3) − y1:
 * five products and a square, the three for the inverse included.
 *
 * A list has three u32 a pair: address of P, address of Q, each with bit 0 set to take the point negated, and the
 * address that receives the sum. `lanes` pairs make a vector; a list is padded to whole vectors by repeating a pair.
 * One record of six coordinate blocks a vector lies in the batch area (all of it written before it is read):
 *     d = x2 − x1 | x1 | s = −(x1 + x2) | e = y2 − y1 | −y1 | product of all d up to here.
 *
 * `<g>_batch_gather(list, vectors, area)`: fills the records, all but the product. A pass of its own: its cache misses
 * overlap, and the other passes run in cache. `<g>_batch_products(area, vectors)`: the products; returns the bits of
 * the lanes whose product is 0, that is where some pair has x1 = x2. The caller then mends the batch's records and
 * calls again. `<g>_batch_mend(record)`: makes a lane with d = 0 a doubling (d = 2 y1, e = 3 x1²) if e = 0, too;
 * otherwise the sum is infinity, d becomes 1 to keep the product going, and the lane's bit is set in the result.
 * `<g>_batch_finish(list, vectors, area)`: one inversion, then backwards through the records. An output may be an input
 * of the same batch.
 */
import type { CurveKernels } from './curve.ts'
import { FIELD_SCRATCH_BYTES } from './field-functions.ts'
import type { ModuleBuilder, WasmType } from './wat.ts'
import { add32, get, i32, offset32 } from './wat.ts'

/** Above what the functions of curve.ts use. */
const BATCH_SCRATCH: number = FIELD_SCRATCH_BYTES + 0x1000
const PAIR_BYTES = 12
/** Blocks of a record, in order. */
const BLOCKS = ['d', 'x1', 's', 'e', 'minusY1', 'product'] as const
type Block = (typeof BLOCKS)[number]

const parameters = (...names: string[]): Record<string, WasmType> =>
  Object.fromEntries(names.map((name) => [name, 'i32']))

export function emitBatch(module: ModuleBuilder, { name, coordinates: c }: CurveKernels): void {
  const { lanes } = c.field
  const recordBytes = BLOCKS.length * c.blockBytes
  const at = (block: Block): number => BLOCKS.indexOf(block) * c.blockBytes
  const part = (record: string, block: Block): string => offset32(get(record), at(block))
  const range = Array.from({ length: lanes }, (_, lane) => lane)

  module.func(`${name}_batch_gather`, parameters('list', 'vectors', 'area'), (f) => {
    const end = f.local('i32', add32(get('area'), `(i32.mul ${get('vectors')} ${i32(recordBytes)})`))
    const entry = (field: number): string[] =>
      range.map((lane) => f.local('i32', `(i32.load offset=${lane * PAIR_BYTES + 4 * field} ${get('list')})`))
    const address = (entries: string[]): string[] => entries.map((value) => `(i32.and ${get(value)} (i32.const -2))`)
    const sign = (entries: string[]): string[] => entries.map((value) => `(i32.and ${get(value)} (i32.const 1))`)
    f.while(`(i32.lt_u ${get('area')} ${get(end)})`, () => {
      const [p, q] = [entry(0), entry(1)]
      const x1 = c.gather(f, address(p))
      const x2 = c.gather(f, address(q))
      c.store(f, get('area'), c.sub(f, x2, x1), at('d'))
      c.store(f, get('area'), x1, at('x1'))
      c.store(f, get('area'), c.neg(f, c.add(f, x1, x2)), at('s'))
      const y1 = c.negateIf(f, sign(p), c.gather(f, address(p), c.elementBytes))
      const y2 = c.negateIf(f, sign(q), c.gather(f, address(q), c.elementBytes))
      c.store(f, get('area'), c.sub(f, y2, y1), at('e'))
      c.store(f, get('area'), c.neg(f, y1), at('minusY1'))
      f.set('area', offset32(get('area'), recordBytes))
      f.set('list', offset32(get('list'), lanes * PAIR_BYTES))
    })
  })

  module.func(
    `${name}_batch_products`,
    parameters('area', 'vectors'),
    (f) => {
      const previous = f.local('i32', part('area', 'product'))
      const end = f.local('i32', add32(get('area'), `(i32.mul ${get('vectors')} ${i32(recordBytes)})`))
      c.call(f, 'tidy', get(previous), part('area', 'd'))
      f.set('area', offset32(get('area'), recordBytes))
      f.while(`(i32.lt_u ${get('area')} ${get(end)})`, () => {
        c.call(f, 'mul_lazy', part('area', 'product'), part('area', 'd'), get(previous))
        f.set(previous, part('area', 'product'))
        f.set('area', offset32(get('area'), recordBytes))
      })
      const product = f.local('i32', offset32('(global.get $scratch)', BATCH_SCRATCH))
      c.call(f, 'tidy', get(product), get(previous))
      f.do(`(call $${c.name}_is_zero ${get(product)})`)
    },
    'i32',
  )

  module.func(`${name}_batch_finish`, parameters('list', 'vectors', 'area'), (f) => {
    const temporary = (k: number): string =>
      f.local('i32', offset32('(global.get $scratch)', BATCH_SCRATCH + k * c.blockBytes))
    const [running, inverse, slope, x3, y3, t] = [0, 1, 2, 3, 4, 5].map(temporary) as [
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    const record = f.local(
      'i32',
      add32(get('area'), `(i32.mul (i32.sub ${get('vectors')} (i32.const 1)) ${i32(recordBytes)})`),
    )
    f.set('list', add32(get('list'), `(i32.mul ${get('vectors')} ${i32(lanes * PAIR_BYTES)})`))
    c.call(f, 'tidy', get(running), part(record, 'product'))
    c.call(f, 'inv', get(running), get(running))
    f.while(`(i32.ge_u ${get(record)} ${get('area')})`, () => {
      f.set('list', `(i32.sub ${get('list')} ${i32(lanes * PAIR_BYTES)})`)
      f.if(
        `(i32.gt_u ${get(record)} ${get('area')})`,
        () => {
          const previous = f.local('i32', `(i32.sub ${part(record, 'product')} ${i32(recordBytes)})`)
          c.call(f, 'mul_lazy', get(inverse), get(previous), get(running))
          c.call(f, 'mul_lazy', get(running), part(record, 'd'), get(running))
        },
        () => c.call(f, 'tidy', get(inverse), get(running)),
      )
      c.call(f, 'mul_lazy', get(slope), part(record, 'e'), get(inverse))
      c.call(f, 'sqr_add', get(x3), get(slope), part(record, 's'))
      const x = c.load(f, get(x3))
      c.store(f, get(t), c.sub(f, c.load(f, part(record, 'x1')), x))
      c.call(f, 'mul_add', get(y3), get(slope), get(t), part(record, 'minusY1'))
      const out = range.map((lane) => get(f.local('i32', `(i32.load offset=${lane * PAIR_BYTES + 8} ${get('list')})`)))
      c.scatter(f, out, x)
      c.scatter(f, out, c.load(f, get(y3)), c.elementBytes)
      f.set(record, `(i32.sub ${get(record)} ${i32(recordBytes)})`)
    })
  })

  module.func(
    `${name}_batch_mend`,
    parameters('record'),
    (f) => {
      const temporary = (k: number): string =>
        get(f.local('i32', offset32('(global.get $scratch)', BATCH_SCRATCH + k * c.blockBytes)))
      const [d, e, twoY, slope, e3] = [0, 1, 2, 3, 4].map(temporary) as [string, string, string, string, string]
      c.call(f, 'tidy', d, part('record', 'd'))
      c.call(f, 'tidy', e, part('record', 'e'))
      const equal = f.local('i32', `(call $${c.name}_is_zero ${d})`)
      const doubling = f.local('i32', `(i32.and ${get(equal)} (call $${c.name}_is_zero ${e}))`)
      const infinite = f.local('i32', `(i32.xor ${get(equal)} ${get(doubling)})`)
      c.call(f, 'tidy', twoY, part('record', 'minusY1'))
      c.call(f, 'neg', twoY, twoY)
      c.call(f, 'add', twoY, twoY, twoY)
      c.call(f, 'sqr', slope, part('record', 'x1'))
      c.call(f, 'add', e3, slope, slope)
      c.call(f, 'add', slope, e3, slope)
      const usual = c.select(f, doubling, c.load(f, twoY), c.load(f, d))
      c.store(f, part('record', 'd'), c.select(f, infinite, c.constant(f, [1n]), usual))
      c.store(f, part('record', 'e'), c.select(f, doubling, c.load(f, slope), c.load(f, e)))
      f.do(get(infinite))
    },
    'i32',
  )
}
