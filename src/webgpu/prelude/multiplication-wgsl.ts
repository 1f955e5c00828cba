/**
 * Emits the multiplication of a {@link DigitField} in WGSL, straight-line over scalar variables (arrays spill on
 * several drivers).
 *
 * 1. Product columns c_k = Σ a_i b_(k−i), k = 0 … 2n − 2, by Karatsuba: a·b = L + (M − L − H) x^h + H x^2h with L =
 *    a_lo b_lo, H = a_hi b_hi, M = (a_lo + a_hi)(b_lo + b_hi). The sums may pass 32 bits, which wrap; the columns that
 *    come out fit: at most n products of two digits, n · 2^26 < 2^31.
 * 2. The columns that would overflow below are swept once in parallel: c = (t + 8192) >> 14; t −= c << 14; next += c.
 * 3. Columns 0 … n − 2 are removed one by one. q = the column's balanced digit, its carry moves up, and q · W is added
 *    one place up, with W = 2^−14 mod p in balanced digits: q · 2^(14 k) = q · 2^(14 (k+1)) · 2^−14. The last column
 *    takes a Montgomery step: q = column · (−p^−1) mod 2^14, then q · p makes it divisible by 2^14.
 * 4. Columns n … 2n − 1 are carried in sequence: the result, a · b / R mod p.
 *
 * Which columns to sweep: column k sees min(k + 1, 2n − 1 − k) products in step 1 and as many as there are j < n − 1
 * with 0 <= k − j − 1 < n, plus one of the Montgomery step, in step 3; it is swept if the two together pass 31.
 *
 * Steps 1 and 2 apart from 3 and 4 make sums of two products with one reduction: `…_accumulate` and `…_reduce`.
 */
import { balanced, DIGIT_BITS, type DigitField, invert, mod, montgomeryFactor, toDigits } from './digit-field.ts'

type Operand = readonly string[]

/** Names of fresh variables, and the statements so far. */
export class Body {
  readonly lines: string[] = []
  #count = 0

  let(expression: string): string {
    const name = `t${this.#count++}`
    this.lines.push(`  let ${name} = ${expression};`)
    return name
  }
}

const join = (terms: readonly string[]): string => terms.join(' + ')

/** Sums of columns: lists of terms, added to at an offset. */
class Columns {
  readonly #terms: string[][]

  constructor(count: number) {
    this.#terms = Array.from({ length: count }, () => [])
  }

  add(offset: number, terms: readonly string[]): void {
    for (const [i, term] of terms.entries()) this.#terms[offset + i]?.push(term)
  }

  names(body: Body): string[] {
    return this.#terms.map((terms) => body.let(join(terms)))
  }
}

/** Columns of a · b, each an expression of variables. */
function productColumns(body: Body, a: Operand, b: Operand, levels: number): string[] {
  const n = a.length
  if (levels === 0 || n < 4) {
    return Array.from({ length: 2 * n - 1 }, (_, k) => {
      const products: string[] = []
      for (let i = Math.max(0, k - n + 1); i <= Math.min(k, n - 1); i++) products.push(`${a[i]} * ${b[k - i]}`)
      return body.let(join(products))
    })
  }
  // The low half is the longer one, so that the high half fits into it.
  const half = Math.ceil(n / 2)
  const sums = (x: Operand): string[] =>
    Array.from({ length: half }, (_, i) => (half + i < n ? body.let(`${x[i]} + ${x[half + i]}`) : (x[i] as string)))
  const low = productColumns(body, a.slice(0, half), b.slice(0, half), levels - 1)
  const high = productColumns(body, a.slice(half), b.slice(half), levels - 1)
  const middle = productColumns(body, sums(a), sums(b), levels - 1)
  const columns = new Columns(2 * n - 1)
  columns.add(0, low)
  columns.add(2 * half, high)
  columns.add(
    half,
    middle.map(
      (name, i) => `(${name}${[low[i], high[i]].map((term) => (term === undefined ? '' : ` - ${term}`)).join('')})`,
    ),
  )
  return columns.names(body)
}

/** Columns of a²: each product of two different digits once, doubled. */
function squareColumns(body: Body, a: Operand, levels: number): string[] {
  const n = a.length
  if (levels === 0 || n < 4) {
    return Array.from({ length: 2 * n - 1 }, (_, k) => {
      const products: string[] = []
      for (let i = Math.max(0, k - n + 1); 2 * i < k; i++) products.push(`${a[i]} * ${a[k - i]}`)
      const doubled = products.length === 0 ? [] : [`2 * (${join(products)})`]
      return body.let(join(k % 2 === 0 ? [...doubled, `${a[k / 2]} * ${a[k / 2]}`] : doubled))
    })
  }
  const half = Math.ceil(n / 2)
  const low = squareColumns(body, a.slice(0, half), levels - 1)
  const high = squareColumns(body, a.slice(half), levels - 1)
  // (a_lo + a_hi)² − a_lo² − a_hi² = 2 a_lo a_hi: the plain product is as cheap and has no subtraction.
  const padded = [...a.slice(half), ...Array.from({ length: 2 * half - n }, () => '0')]
  const cross = productColumns(body, a.slice(0, half), padded, levels - 1)
  const columns = new Columns(2 * n - 1)
  columns.add(0, low)
  columns.add(2 * half, high)
  columns.add(
    half,
    cross.map((name) => `2 * ${name}`),
  )
  return columns.names(body)
}

/**
 * First and last column that steps 1 and 3 together would overflow.
 * @param products that step 1 adds up
 */
export function sweptColumns(n: number, products = 1): { readonly first: number; readonly last: number } {
  const crowded: number[] = []
  for (let k = 0; k < 2 * n; k++) {
    const terms = products * Math.max(0, Math.min(k + 1, 2 * n - 1 - k))
    const folds = Math.max(0, Math.min(k - 1, n - 2) - Math.max(0, k - n) + 1)
    const montgomery = k >= n - 1 && k <= 2 * n - 2 ? 1 : 0
    if (terms + folds + montgomery > 31) crowded.push(k)
  }
  return { first: crowded[0] ?? 0, last: crowded[crowded.length - 1] ?? -1 }
}

/** Carries the crowded ones of the columns c0, c1, …, all in parallel. */
function sweep(body: Body, n: number, products: number): void {
  const { first, last } = sweptColumns(n, products)
  for (let k = first; k <= last; k++) body.lines.push(`  let s${k} = (c${k} + 8192) >> 14u;`)
  for (let k = first; k <= last; k++) body.lines.push(`  c${k} += ${k > first ? `s${k - 1} ` : ''}- (s${k} << 14u);`)
  if (last >= first) body.lines.push(`  c${last + 1} += s${last};`)
}

const product = (factor: string, digit: number): string =>
  digit < 0 ? ` - ${factor} * ${-digit}` : ` + ${factor} * ${digit}`

/**
 * Makes column k divisible by 2^14 by a multiple of p, and carries it. Only its low 14 bits count; it is reduced first
 * so that the product is exact.
 */
export function montgomeryStep(body: Body, field: DigitField, k: number): void {
  const base = 1n << BigInt(DIGIT_BITS)
  const modulus = toDigits(field.modulus, field.digits)
  const negativeInverse = Number(BigInt.asIntN(DIGIT_BITS, -invert(mod(field.modulus, base), base)))
  body.lines.push(`  let low = c${k} & 16383;`, `  let q${k} = (((low * ${negativeInverse}) & 16383) ^ 8192) - 8192;`)
  for (const [j, digit] of modulus.entries()) body.lines.push(`  c${k + j} = c${k + j}${product(`q${k}`, digit)};`)
  body.lines.push(`  c${k + 1} += c${k} >> 14u;`)
}

/** Statements from swept columns to the returned value. */
function reduction(body: Body, field: DigitField): void {
  const n = field.digits
  const base = 1n << BigInt(DIGIT_BITS)
  const fold = toDigits(balanced(invert(base, field.modulus), field.modulus), n)
  for (let k = 0; k < n - 1; k++) {
    body.lines.push(`  let u${k} = (c${k} + 8192) >> 14u;`, `  let q${k} = c${k} - (u${k} << 14u);`)
    for (let j = 0; j < n; j++) {
      const carry = j === 0 ? ` + u${k}` : ''
      body.lines.push(`  c${k + 1 + j} = c${k + 1 + j}${product(`q${k}`, fold[j] as number)}${carry};`)
    }
  }
  montgomeryStep(body, field, n - 1)
  for (let j = n; j < 2 * n - 1; j++) {
    body.lines.push(`  let v${j} = (c${j} + 8192) >> 14u;`, `  c${j + 1} += v${j};`)
  }
  const digits = Array.from({ length: n }, (_, j) => (j === n - 1 ? `c${2 * n - 1}` : `c${n + j} - (v${n + j} << 14u)`))
  body.lines.push(`  return ${field.name.toUpperCase()}(${digits.join(', ')});`)
}

/** Statements from a product's columns to the returned value. */
function reduceProduct(body: Body, field: DigitField, columns: readonly string[]): void {
  const n = field.digits
  for (let k = 0; k < 2 * n; k++) body.lines.push(`  var c${k} = ${columns[k] ?? '0'};`)
  sweep(body, n, 1)
  reduction(body, field)
}

const digitsOf = (name: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${name}.d${i}`)

/** `fn fq_mul(a, b)`: a · b / R. */
export function multiplicationWgsl(field: DigitField, levels: number): string {
  const type = field.name.toUpperCase()
  const body = new Body()
  reduceProduct(body, field, productColumns(body, digitsOf('a', field.digits), digitsOf('b', field.digits), levels))
  return `fn ${field.name}_mul(a: ${type}, b: ${type}) -> ${type} {\n${body.lines.join('\n')}\n}\n`
}

/** `fn fq_sqr(a)`: a² / R. A second multiplication body: only for kernels that square and multiply little else. */
export function squaringWgsl(field: DigitField, levels: number): string {
  const type = field.name.toUpperCase()
  const body = new Body()
  reduceProduct(body, field, squareColumns(body, digitsOf('a', field.digits), levels))
  return `fn ${field.name}_sqr(a: ${type}) -> ${type} {\n${body.lines.join('\n')}\n}\n`
}

/**
 * `fn fq_accumulate(sum, a, b)`: columns of a sum of two products at most; `fn fq_reduce(sum)`: that sum / R. One body
 * of each.
 */
export function accumulationWgsl(field: DigitField, levels: number): string {
  const { name, digits: n } = field
  const [type, sum] = [name.toUpperCase(), `${name.toUpperCase()}Sum`]
  const names = Array.from({ length: 2 * n }, (_, k) => `c${k}`)
  const accumulate = new Body()
  const columns = productColumns(accumulate, digitsOf('a', n), digitsOf('b', n), levels)
  for (const [k, c] of names.entries()) accumulate.lines.push(`  var ${c} = sum.${c} + ${columns[k] ?? '0'};`)
  sweep(accumulate, n, 2)
  const reduce = new Body()
  for (const c of names) reduce.lines.push(`  var ${c} = sum.${c};`)
  reduction(reduce, field)
  return [
    `struct ${sum} { ${names.map((c) => `${c}: i32`).join(', ')} }`,
    `fn ${name}_accumulate(sum: ${sum}, a: ${type}, b: ${type}) -> ${sum} {`,
    ...accumulate.lines,
    `  return ${sum}(${names.join(', ')});`,
    '}',
    `fn ${name}_reduce(sum: ${sum}) -> ${type} {`,
    ...reduce.lines,
    '}',
    '',
  ].join('\n')
}

/** R² mod p, balanced: fq_mul by it brings a plain value into Montgomery form. */
export const montgomerySquare = (field: DigitField): bigint => balanced(montgomeryFactor(field) ** 2n, field.modulus)
