/** Memory-level functions of a field: see the header of field.ts for what they take and return. */
import type { FieldEmitter, Value } from './field.ts'
import { modulo } from './field.ts'
import type { FunctionBuilder, ModuleBuilder, WasmType } from './wat.ts'
import { add32, get, i32, offset32 } from './wat.ts'

/**
 * Bytes at the start of a thread's scratch that functions of a field may use for themselves (powers for an inversion).
 */
export const FIELD_SCRATCH_BYTES = 0x1000

const addresses = (...names: string[]): Record<string, WasmType> =>
  Object.fromEntries(names.map((name) => [name, 'i32']))

export function emitFieldFunctions(module: ModuleBuilder, field: FieldEmitter): void {
  const { name } = field
  const tidyLoad = (f: FunctionBuilder, address: string): Value => field.load(f, get(address), 0, { bound: 1.01 })
  /** A function of one or two blocks. */
  const operation = (suffix: string, inputs: string[], body: (f: FunctionBuilder, values: Value[]) => Value): void => {
    module.func(`${name}_${suffix}`, addresses('out', ...inputs), (f) => {
      const values = inputs.map((input) => tidyLoad(f, input))
      field.store(f, get('out'), body(f, values))
    })
  }
  const constant = (f: FunctionBuilder, value: bigint): Value =>
    field.load(f, i32(field.constant(value)), 0, { bound: 1 })

  operation('mul', ['a', 'b'], (f, [a, b]) => field.mul(f, a as Value, b as Value, { tidy: true }))
  operation('sqr', ['a'], (f, [a]) => field.sqr(f, a as Value, { tidy: true }))
  operation('add', ['a', 'b'], (f, [a, b]) => field.tidy(f, field.add(f, a as Value, b as Value)))
  operation('sub', ['a', 'b'], (f, [a, b]) => field.tidy(f, field.sub(f, a as Value, b as Value)))
  operation('neg', ['a'], (f, [a]) => field.tidy(f, field.neg(f, a as Value)))
  operation('to_mont', ['a'], (f, [a]) =>
    field.mul(f, a as Value, constant(f, modulo(field.radix * field.radix, field.modulus)), { tidy: true }),
  )
  operation('from_mont', ['a'], (f, [a]) => field.mul(f, a as Value, constant(f, 1n), { tidy: true }))
  module.func(`${name}_tidy`, addresses('out', 'a'), (f) => {
    field.store(f, get('out'), field.tidy(f, field.load(f, get('a'), 0, { limb: 4, bound: 16 })))
  })
  module.func(`${name}_is_zero`, addresses('a'), (f) => f.do(field.isZero(f, field.tidy(f, tidyLoad(f, 'a')))), 'i32')

  const lanes = Array.from({ length: field.lanes }, (_, lane) => lane)
  module.func(`${name}_import`, addresses('out', ...lanes.map((lane) => `a${lane}`)), (f) => {
    const value = field.importBytes(
      f,
      lanes.map((lane) => get(`a${lane}`)),
    )
    field.store(f, get('out'), field.tidy(f, value))
  })
  module.func(`${name}_export`, addresses('a', ...lanes.map((lane) => `out${lane}`)), (f) => {
    const value = field.tidy(f, field.load(f, get('a'), 0, { limb: 4, bound: 16 }))
    field.exportBytes(
      f,
      value,
      lanes.map((lane) => get(`out${lane}`)),
    )
  })
  emitInversion(module, field)
}

/**
 * a^(p − 2) with windows of four bits, both lanes at once: the exponent is public and the same, so is the control flow.
 * Powers a^1..a^15 lie in scratch.
 */
function emitInversion(module: ModuleBuilder, field: FieldEmitter): void {
  const { name, blockBytes } = field
  module.func(`${name}_inv`, addresses('out', 'a'), (f) => {
    const exponent = (field.modulus - 2n).toString(16)
    const powers = '(global.get $scratch)'
    const call = (suffix: string, ...args: string[]): void => f.do(`(call $${name}_${suffix} ${args.join(' ')})`)
    const power = (k: number): string => offset32(powers, k * blockBytes)
    call('tidy', power(1), get('a'))
    for (let k = 2; k < 16; k++) call('mul', power(k), power(k - 1), power(1))
    const table = module.data(Uint8Array.from(exponent, (digit) => Number.parseInt(digit, 16)))
    const position = f.local('i32', i32(1))
    const digit = f.local('i32')
    const result = power(0)
    call('tidy', result, power(Number.parseInt(exponent[0] as string, 16)))
    f.while(`(i32.lt_u ${get(position)} ${i32(exponent.length)})`, () => {
      for (let i = 0; i < 4; i++) call('sqr', result, result)
      f.set(digit, `(i32.load8_u offset=${table} ${get(position)})`)
      f.if(get(digit), () => {
        call('mul', result, result, add32(powers, `(i32.mul ${get(digit)} ${i32(blockBytes)})`))
      })
      f.set(position, add32(get(position), i32(1)))
    })
    call('tidy', get('out'), result)
  })
}
