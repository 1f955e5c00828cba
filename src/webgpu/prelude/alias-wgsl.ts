/** Lets one WGSL file serve several fields: names `F`, `FPacked`, `f_mul`, … for those of a field. */
import type { DigitField } from './digit-field.ts'

const UNARY = ['neg', 'light', 'tidy', 'sqr'] as const
const BINARY = ['add', 'sub', 'mul'] as const

/** Which functions are there to be named. */
export interface AliasOptions {
  /** What takes the place of the field's name. @default 'f' */
  readonly prefix?: string
  /** Whether the field's prelude has a squaring. @default false */
  readonly squaring?: boolean
  /** Whether it has a multiplication. @default true */
  readonly multiplication?: boolean
}

export function aliasWgsl(
  field: DigitField,
  { prefix = 'f', squaring = false, multiplication = true }: AliasOptions = {},
): string {
  const [name, type] = [field.name, field.name.toUpperCase()]
  const alias = prefix.toUpperCase()
  return [
    `alias ${alias} = ${type};`,
    `alias ${alias}Packed = ${type}Packed;`,
    ...['ZERO', 'ONE', 'R2', 'PLAIN_ONE'].map((label) => `const ${alias}_${label} = ${type}_${label};`),
    ...UNARY.filter((f) => f !== 'sqr' || squaring).map(
      (f) => `fn ${prefix}_${f}(a: ${alias}) -> ${alias} { return ${name}_${f}(a); }`,
    ),
    ...BINARY.filter((f) => f !== 'mul' || multiplication).map(
      (f) => `fn ${prefix}_${f}(a: ${alias}, b: ${alias}) -> ${alias} { return ${name}_${f}(a, b); }`,
    ),
    `fn ${prefix}_scale(a: ${alias}, k: i32) -> ${alias} { return ${name}_scale(a, k); }`,
    `fn ${prefix}_select(a: ${alias}, b: ${alias}, condition: bool) -> ${alias} { return ${name}_select(a, b, condition); }`,
    `fn ${prefix}_is_zero(a: ${alias}) -> bool { return ${name}_is_zero(a); }`,
    `fn ${prefix}_unpack(w: ${alias}Packed) -> ${alias} { return ${name}_unpack(w); }`,
    `fn ${prefix}_pack(a: ${alias}) -> ${alias}Packed { return ${name}_pack(a); }`,
    `fn ${prefix}_from_plain(w: ${alias}Packed) -> ${alias} { return ${name}_from_plain(w); }`,
    `fn ${prefix}_to_plain(a: ${alias}) -> ${alias}Packed { return ${name}_to_plain(a); }`,
    '',
  ].join('\n')
}
