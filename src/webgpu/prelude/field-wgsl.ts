/**
 * The WGSL of a {@link DigitField}: type, constants and functions that every kernel is composed with. Names start with
 * the field's: `FQ`, `fq_add`, … Only {@link fieldWgsl}'s options decide which multiplication bodies a kernel carries:
 * a driver inlines each call, so one body a kernel is the rule (an instruction cache overflows at the second one of
 * Fq).
 *
 * Bounds. "Light" digits are within ±8193 (after one parallel carry pass), and are what multiplication takes. After
 * fq_mul a value is within about ±1.1 p; sums and differences of a few such may be multiplied (R is 2048 p for Fq, 2^11
 * r for Fr). Packing needs |value| < 4.9 p for Fq (6 bits of top digit) and < 1.1 r for Fr (4 bits: fr_tidy first,
 * unless it comes out of fr_mul of tidy factors).
 */
import { conversionWgsl } from './conversion-wgsl.ts'
import { DIGIT_BITS, type DigitField, mod, montgomeryFactor, toDigits, topBias, topBits } from './digit-field.ts'
import { accumulationWgsl, montgomerySquare, multiplicationWgsl, squaringWgsl } from './multiplication-wgsl.ts'

/** What a kernel needs of a field. */
export interface FieldWgslOptions {
  /** Include `fq_mul`. @default true */
  readonly multiplication?: boolean
  /** Include `fq_sqr`. @default false */
  readonly squaring?: boolean
  /** Include `fq_accumulate` and `fq_reduce`, for sums of two products. @default false */
  readonly accumulation?: boolean
  /** Include `fq_to_montgomery`. @default false */
  readonly conversion?: boolean
  /** Karatsuba levels. @default 2 */
  readonly levels?: number
}

/** `vec4<u32>`s of a packed element: 3 for Fq, 2 for Fr. */
export const packedVectors = (field: DigitField): number => field.words / 4

/** WGSL of a field: its type, constants and functions. */
export function fieldWgsl(field: DigitField, options: FieldWgslOptions = {}): string {
  const { multiplication = true, squaring = false, accumulation = false, conversion = false, levels = 2 } = options
  const parts = [structure(field), linear(field), carries(field), packing(field), plain(field)]
  if (multiplication) parts.push(multiplicationWgsl(field, levels))
  if (squaring) parts.push(squaringWgsl(field, levels))
  if (accumulation) parts.push(accumulationWgsl(field, levels))
  if (conversion) parts.push(conversionWgsl(field))
  return parts.join('\n')
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i)

function structure(field: DigitField): string {
  const { name, digits } = field
  const type = name.toUpperCase()
  const constant = (label: string, value: bigint): string =>
    `const ${type}_${label}: ${type} = ${type}(${toDigits(value, digits).join(', ')});`
  const p = field.modulus
  return [
    `struct ${type} { ${range(digits)
      .map((i) => `d${i}: i32`)
      .join(', ')} }`,
    constant('ZERO', 0n),
    '// 1 in Montgomery form: R mod p.',
    constant('ONE', balancedResidue(montgomeryFactor(field), p)),
    '// R² mod p: a factor that brings a plain value into Montgomery form. Multiplying by PLAIN_ONE goes back.',
    constant('R2', montgomerySquare(field)),
    constant('PLAIN_ONE', 1n),
    `struct ${type}Packed { ${range(packedVectors(field))
      .map((i) => `v${i}: vec4<u32>`)
      .join(', ')} }`,
    '',
  ].join('\n')
}

const balancedResidue = (value: bigint, p: bigint): bigint => {
  const residue = mod(value, p)
  return 2n * residue > p ? residue - p : residue
}

/** add, sub, neg, double: limb-wise and one parallel carry pass; select by a condition. */
function linear(field: DigitField): string {
  const { name, digits } = field
  const type = name.toUpperCase()
  const call = (f: (i: number) => string): string => `${type}(${range(digits).map(f).join(', ')})`
  return [
    `fn ${name}_add(a: ${type}, b: ${type}) -> ${type} { return ${name}_light(${call((i) => `a.d${i} + b.d${i}`)}); }`,
    `fn ${name}_sub(a: ${type}, b: ${type}) -> ${type} { return ${name}_light(${call((i) => `a.d${i} - b.d${i}`)}); }`,
    `fn ${name}_neg(a: ${type}) -> ${type} { return ${name}_light(${call((i) => `-a.d${i}`)}); }`,
    `fn ${name}_scale(a: ${type}, k: i32) -> ${type} { return ${name}_light(${call((i) => `k * a.d${i}`)}); }`,
    `// Without a carry pass, for what is carried next: digits may be past what a multiplication takes.`,
    `fn ${name}_plus(a: ${type}, b: ${type}) -> ${type} { return ${call((i) => `a.d${i} + b.d${i}`)}; }`,
    `fn ${name}_plus_scaled(a: ${type}, b: ${type}, k: i32) -> ${type} { return ${call((i) => `a.d${i} + k * b.d${i}`)}; }`,
    `fn ${name}_minus(a: ${type}, b: ${type}) -> ${type} { return ${call((i) => `a.d${i} - b.d${i}`)}; }`,
    `// a or −a: as light as digits of a packed element are.`,
    `fn ${name}_signed(a: ${type}, negative: bool) -> ${type} {`,
    '  let sign = select(1, -1, negative);',
    `  return ${call((i) => `sign * a.d${i}`)};`,
    '}',
    `// b where the condition holds, else a.`,
    `fn ${name}_select(a: ${type}, b: ${type}, condition: bool) -> ${type} { return ${call((i) => `select(a.d${i}, b.d${i}, condition)`)}; }`,
    '',
  ].join('\n')
}

function carries(field: DigitField): string {
  const { name, digits } = field
  const type = name.toUpperCase()
  const last = digits - 1
  const p = toDigits(field.modulus, digits)
  // Quotient by p from the two top digits as a float: its error stays far below 0.02.
  const weight = 2 ** DIGIT_BITS
  const top = Number(field.modulus >> BigInt(DIGIT_BITS * (digits - 2)))
  const lines: string[] = []
  lines.push(`fn ${name}_light(a: ${type}) -> ${type} {`)
  for (let i = 0; i < last; i++) lines.push(`  let c${i} = (a.d${i} + 8192) >> 14u;`)
  lines.push(
    `  return ${type}(${range(digits)
      .map((i) => `a.d${i}${i < last ? ` - (c${i} << 14u)` : ''}${i > 0 ? ` + c${i - 1}` : ''}`)
      .join(', ')});`,
    '}',
  )
  const sequence = (source: (i: number) => string, indent = '  '): string => {
    const out: string[] = []
    for (let i = 0; i < last; i++) {
      out.push(
        `${indent}let t${i} = ${source(i)}${i > 0 ? ` + k${i - 1}` : ''};`,
        `${indent}let k${i} = (t${i} + 8192) >> 14u;`,
      )
    }
    out.push(
      `${indent}return ${type}(${range(digits)
        .map((i) => (i === last ? `${source(i)} + k${last - 1}` : `t${i} - (k${i} << 14u)`))
        .join(', ')});`,
    )
    return out.join('\n')
  }
  lines.push(
    `// Fully carried, and within ±0.52 p: subtracts the nearest multiple of p, as the two top digits tell it.`,
    `fn ${name}_tidy(a: ${type}) -> ${type} {`,
    `  let q = i32(floor((f32(a.d${last}) * ${weight}.0 + f32(a.d${last - 1})) / ${top}.0 + 0.5));`,
    sequence((i) => `a.d${i} - q * ${p[i]}`),
    '}',
    `// False only if a is not ≡ 0 mod p, for |a| below 2 p: the low digit is that of 0, p or −p.`,
    `fn ${name}_may_be_zero(a: ${type}) -> bool {`,
    '  let low = a.d0 & 16383;',
    `  return low == 0 || low == ${(p[0] as number) & 16383} || low == ${-(p[0] as number) & 16383};`,
    '}',
    `// Whether a ≡ 0 mod p, for |a| below 100 p.`,
    `fn ${name}_is_zero(a: ${type}) -> bool {`,
    `  let t = ${name}_tidy(a);`,
    `  return (${range(digits)
      .map((i) => `t.d${i}`)
      .join(' | ')}) == 0;`,
    '}',
    '',
  )
  return lines.join('\n')
}

/** Packed form: biased digits side by side. */
function packing(field: DigitField): string {
  const { name, digits, words } = field
  const type = name.toUpperCase()
  const last = digits - 1
  const width = (i: number): number => (i === last ? topBits(field) : DIGIT_BITS)
  const bias = (i: number): number => (i === last ? topBias(field) : 8192)
  const component = (word: number): string => `v${word >> 2}.${'xyzw'[word & 3]}`
  const unpacked = range(digits).map((i) => {
    const bit = DIGIT_BITS * i
    const [word, shift] = [bit >> 5, bit & 31]
    const low = shift === 0 ? `w.${component(word)}` : `(w.${component(word)} >> ${shift}u)`
    const parts = shift + width(i) > 32 ? `(${low} | (w.${component(word + 1)} << ${32 - shift}u))` : low
    return `i32(${parts} & ${2 ** width(i) - 1}u) - ${bias(i)}`
  })
  const packed: string[][] = Array.from({ length: words }, () => [])
  for (const i of range(digits)) {
    const bit = DIGIT_BITS * i
    const [word, shift] = [bit >> 5, bit & 31]
    packed[word]?.push(`(b${i} << ${shift}u)`)
    if (shift + width(i) > 32) packed[word + 1]?.push(`(b${i} >> ${32 - shift}u)`)
  }
  const vectors = range(packedVectors(field)).map(
    (v) => `vec4<u32>(${[0, 1, 2, 3].map((i) => (packed[4 * v + i] as string[]).join(' | ')).join(', ')})`,
  )
  return [
    `fn ${name}_unpack(w: ${type}Packed) -> ${type} {`,
    `  return ${type}(${unpacked.join(', ')});`,
    '}',
    '// Digits must be fully carried (the result of a multiplication or of tidy).',
    `fn ${name}_pack(a: ${type}) -> ${type}Packed {`,
    ...range(digits).map((i) => `  let b${i} = u32(a.d${i} + ${bias(i)});`),
    `  return ${type}Packed(${vectors.join(', ')});`,
    '}',
    '',
  ].join('\n')
}

/** Unsigned integers of `words` words, little-endian, to digits and back. */
function plain(field: DigitField): string {
  const { name, digits, words } = field
  const type = name.toUpperCase()
  const last = digits - 1
  const component = (word: number): string => `v${word >> 2}.${'xyzw'[word & 3]}`
  const bits = (i: number): string => {
    const bit = DIGIT_BITS * i
    const [word, shift] = [bit >> 5, bit & 31]
    const low = shift === 0 ? `w.${component(word)}` : `(w.${component(word)} >> ${shift}u)`
    const both =
      shift + DIGIT_BITS > 32 && word + 1 < words ? `(${low} | (w.${component(word + 1)} << ${32 - shift}u))` : low
    return `i32(${both}${i === last ? '' : ' & 16383u'})`
  }
  const p = toDigits(field.modulus, digits)
  const packed: string[][] = Array.from({ length: words }, () => [])
  for (const i of range(digits)) {
    const bit = DIGIT_BITS * i
    const [word, shift] = [bit >> 5, bit & 31]
    packed[word]?.push(`(u32(e${i}) << ${shift}u)`)
    if (shift + DIGIT_BITS > 32 && word + 1 < words) packed[word + 1]?.push(`(u32(e${i}) >> ${32 - shift}u)`)
  }
  const vectors = range(packedVectors(field)).map(
    (v) => `vec4<u32>(${[0, 1, 2, 3].map((i) => (packed[4 * v + i] as string[]).join(' | ')).join(', ')})`,
  )
  // Canonical: tidy + p lies in (0.48 p, 1.52 p); carried without sign, it is compared with p by subtracting.
  const lines = [
    `// Digits of an unsigned integer, 0 up to 16383: for sums that are carried later.`,
    `fn ${name}_digits(w: ${type}Packed) -> ${type} { return ${type}(${range(digits).map(bits).join(', ')}); }`,
    `fn ${name}_from_plain(w: ${type}Packed) -> ${type} { return ${name}_light(${name}_digits(w)); }`,
    `// The residue of a in [0, p) as an unsigned integer (of the digits as they stand: leave Montgomery form first).`,
    `fn ${name}_to_plain(a: ${type}) -> ${type}Packed {`,
    `  let t = ${name}_tidy(a);`,
  ]
  for (let i = 0; i < digits; i++) {
    lines.push(`  let s${i} = t.d${i} + ${p[i]}${i > 0 ? ` + (s${i - 1} >> 14u)` : ''};`)
    const digit = i === last ? `s${i}` : `(s${i} & 16383)`
    lines.push(`  let g${i} = ${digit};`, `  let h${i} = g${i} - ${p[i]}${i > 0 ? ` + (h${i - 1} >> 14u)` : ''};`)
  }
  lines.push(`  let below = h${last} < 0;`)
  for (let i = 0; i < digits; i++)
    lines.push(`  let e${i} = select(${i === last ? `h${i}` : `h${i} & 16383`}, g${i}, below);`)
  lines.push(`  return ${type}Packed(${vectors.join(', ')});`, '}', '')
  return lines.join('\n')
}
