/**
 * Kernels of the transforms over Fr (their use: `src/cpu/ntt/passes.ts`).
 *
 * A short transform of n = 2^log2n elements, n ≤ 2^12, lies in scratch as n blocks, one element a lane. Its stages are
 * decimation in time: from bit-reversed order, at distance half = 1, 2, 4, …
 *
 *     t = v · w;  (u, v) ← (u + t, u − t)
 *
 * A product t is normalised, so in multiply-then-add order |u| grows by one product's bound a stage, not by a factor 2,
 * and no stage has to normalise or reduce. Where w = 1 the product can be left out, but then t is as large as u and
 * bounds double: that is done in the first stages only, where it saves most (n/2, n/4 and n/8 products): see
 * {@link plainStages}.
 */
import type { Bounds, FieldEmitter, Value } from './field.ts'
import type { ModuleBuilder } from './wat.ts'
import { add32, FunctionBuilder, get, i32 } from './wat.ts'

/** Longest short transform, as log2. */
const MAX_LOG2_LENGTH = 12

/**
 * Adds `fr_lanes()`, `fr_block_bytes()`, `fr_gather`, `fr_powers`, `fr_butterflies` and `fr_scatter`.
 *
 * Elements in memory are plain, 32 bytes little-endian; `lane` arguments are the distance of the second lane's element
 * from the first's.
 */
export function emitTransforms(module: ModuleBuilder, field: FieldEmitter): void {
  const name = (operation: string): string => `${field.name}_${operation}`
  module.func(name('lanes'), {}, (f) => f.do(i32(field.lanes)), 'i32')
  module.func(name('block_bytes'), {}, (f) => f.do(i32(field.blockBytes)), 'i32')
  const bounds = growth(field)
  emitGather(module, field, name('gather'))
  emitPowers(module, field, name('powers'))
  emitButterflies(module, field, name('butterflies'), bounds)
  emitScatter(module, field, name('scatter'), bounds)
}

/** Address expressions of both lanes' elements. */
function lanesAt(field: FieldEmitter, address: string, lane: string): string[] {
  return field.lanes === 2 ? [get(address), add32(get(address), get(lane))] : [get(address)]
}

function advance(f: FunctionBuilder, pointer: string, step: string): void {
  f.set(pointer, add32(get(pointer), step))
}

/** Overwrites the locals of `to` with the digits of `from`. */
function assign(f: FunctionBuilder, to: Value, from: Value): void {
  to.digits.forEach((digit, i) => {
    f.set(digit, get(from.digits[i] as string))
  })
}

/** A value in the same locals that is as large as the larger of both. */
function widest(digits: Value, ...others: readonly Value[]): Value {
  return {
    digits: digits.digits,
    limb: Math.max(digits.limb, ...others.map(({ limb }) => limb)),
    bound: Math.max(digits.bound, ...others.map(({ bound }) => bound)),
  }
}

/**
 * In how many stages the multiplication by 1 is skipped. The integers add the bound of t, as it is declared, to every
 * difference, so there the bound is exact for the stage on fresh elements only; doubles are signed and have room for
 * eightfold digits.
 */
function plainStages(field: FieldEmitter): number {
  return field.backend === 'fma' ? 3 : 1
}

/** Bounds of elements before the first stage, and of any element in any stage of the longest transform. */
interface Growth {
  readonly fresh: Required<Bounds>
  readonly grown: Required<Bounds>
}

/** Found by running the emitter, as in {@link emitButterflies}, on a function that is dropped. */
function growth(field: FieldEmitter): Growth {
  const f = new FunctionBuilder('growth', { at: 'i32' })
  const fresh = field.importBytes(f, Array<string>(field.lanes).fill(get('at')))
  const twiddle = field.load(f, get('at'))
  let u = fresh
  for (let stage = 0; stage < MAX_LOG2_LENGTH; stage++) {
    const t = stage < plainStages(field) ? u : field.mul(f, u, twiddle)
    u = widest(u, field.add(f, u, t), field.sub(f, u, t))
  }
  return { fresh: { limb: fresh.limb, bound: fresh.bound }, grown: { limb: u.limb, bound: u.bound } }
}

/**
 * `gather(to, from, lane, stride, times, log2n)`: block i′ of `to`, i′ the bit reversal of i, receives the element at
 * from + i · stride, times (if `times` is not 0) the element at times + i · stride; a kernel's product, so divided by
 * R.
 */
function emitGather(module: ModuleBuilder, field: FieldEmitter, name: string): void {
  module.func(name, { to: 'i32', from: 'i32', lane: 'i32', stride: 'i32', times: 'i32', log2n: 'i32' }, (f) => {
    const n = f.local('i32', `(i32.shl ${i32(1)} (local.get $log2n))`)
    const i = f.local('i32', i32(0))
    const reversed = f.local('i32', i32(0))
    f.while(`(i32.ne ${get(i)} ${get(n)})`, () => {
      const value = field.importBytes(f, lanesAt(field, 'from', 'lane'))
      f.if('(local.get $times)', () => {
        assign(f, value, field.mul(f, value, field.importBytes(f, lanesAt(field, 'times', 'lane'))))
        advance(f, 'times', get('stride'))
      })
      field.store(f, add32(get('to'), `(i32.mul ${get(reversed)} ${i32(field.blockBytes)})`), value)
      advance(f, 'from', get('stride'))
      advance(f, i, i32(1))
      // i and i + 1 differ in bit k = ctz(i + 1) and all below: so do their reversals in the top k + 1 of log2n bits.
      const below = `(i32.shr_u ${get(n)} (i32.add (i32.ctz ${get(i)}) ${i32(1)}))`
      f.set(reversed, `(i32.xor ${get(reversed)} (i32.sub ${get(n)} ${below}))`)
    })
  })
}

/**
 * `powers(to, n, seeds)`: block k receives start · ratio^k, where `seeds` holds the start of both lanes, then the ratio
 * of both, plain integers that are taken as Montgomery forms.
 */
function emitPowers(module: ModuleBuilder, field: FieldEmitter, name: string): void {
  module.func(name, { to: 'i32', n: 'i32', seeds: 'i32' }, (f) => {
    const seed = (first: number): Value => {
      const addresses = Array.from({ length: field.lanes }, (_, i) => add32(get('seeds'), i32(32 * (first + i))))
      return field.tidy(f, field.importBytes(f, addresses))
    }
    const ratio = seed(2)
    const power = seed(0)
    const end = f.local('i32', add32(get('to'), `(i32.mul ${get('n')} ${i32(field.blockBytes)})`))
    f.while(`(i32.ne ${get('to')} ${get(end)})`, () => {
      field.store(f, get('to'), power)
      assign(f, power, field.mul(f, power, ratio, { tidy: true }))
      advance(f, 'to', i32(field.blockBytes))
    })
  })
}

/** `butterflies(data, table, log2n)`: all stages, in place; `table` holds the roots w^0 … w^(n/2 − 1), w of order n. */
function emitButterflies(module: ModuleBuilder, field: FieldEmitter, name: string, { fresh, grown }: Growth): void {
  const block = field.blockBytes
  module.func(name, { data: 'i32', table: 'i32', log2n: 'i32' }, (f) => {
    const end = f.local('i32', add32(get('data'), `(i32.shl ${i32(block)} (local.get $log2n))`))
    const [stage, half, step, base, u, v, w, middle] = Array.from({ length: 8 }, () => f.local('i32')) as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    const butterfly = (twiddle: boolean): void => {
      // A signed value needs no bound for its difference; see plainStages for the other.
      const bounds = twiddle || field.backend === 'fma' ? grown : fresh
      const loaded = field.load(f, get(v), 0, bounds)
      const t = twiddle ? field.mul(f, loaded, field.load(f, get(w))) : loaded
      const other = field.load(f, get(u), 0, bounds)
      field.store(f, get(u), field.add(f, other, t))
      field.store(f, get(v), field.sub(f, other, t))
      for (const pointer of [u, v]) advance(f, pointer, i32(block))
      advance(f, w, get(step))
    }
    f.set(stage, i32(0))
    f.while(`(i32.ne ${get(stage)} (local.get $log2n))`, () => {
      f.set(half, `(i32.shl ${i32(block)} ${get(stage)})`)
      f.set(step, `(i32.shl ${i32(block)} (i32.sub (i32.sub (local.get $log2n) ${get(stage)}) ${i32(1)}))`)
      f.set(base, get('data'))
      f.while(`(i32.ne ${get(base)} ${get(end)})`, () => {
        f.set(u, get(base))
        f.set(middle, add32(get(base), get(half)))
        f.set(v, get(middle))
        f.set(w, get('table'))
        f.if(`(i32.lt_u ${get(stage)} ${i32(plainStages(field))})`, () => butterfly(false))
        f.while(`(i32.ne ${get(u)} ${get(middle)})`, () => butterfly(true))
        f.set(base, get(v))
      })
      advance(f, stage, i32(1))
    })
  })
}

/**
 * `scatter(data, to, lane, stride, factors, minus, minusLane, minusStride, n)`: writes block k to to + k · stride,
 * canonical, multiplied by block k of `factors` (if not 0; Montgomery form), minus the element at minus + k ·
 * minusStride (if not 0).
 */
function emitScatter(module: ModuleBuilder, field: FieldEmitter, name: string, { grown }: Growth): void {
  const parameters = ['data', 'to', 'lane', 'stride', 'factors', 'minus', 'minusLane', 'minusStride', 'n']
  module.func(name, Object.fromEntries(parameters.map((parameter) => [parameter, 'i32'])), (f) => {
    const block = i32(field.blockBytes)
    const end = f.local('i32', add32(get('data'), `(i32.mul ${get('n')} ${block})`))
    f.while(`(i32.ne ${get('data')} ${get(end)})`, () => {
      const value = field.load(f, get('data'), 0, grown)
      let result = value
      f.if(get('factors'), () => {
        const product = field.mul(f, value, field.load(f, get('factors')))
        assign(f, value, product)
        result = widest(result, product)
        advance(f, 'factors', block)
      })
      f.if(get('minus'), () => {
        const difference = field.sub(f, result, field.importBytes(f, lanesAt(field, 'minus', 'minusLane')))
        assign(f, value, difference)
        result = widest(result, difference)
        advance(f, 'minus', get('minusStride'))
      })
      field.exportBytes(f, field.tidy(f, result), lanesAt(field, 'to', 'lane'))
      advance(f, 'to', get('stride'))
      advance(f, 'data', block)
    })
  })
}
