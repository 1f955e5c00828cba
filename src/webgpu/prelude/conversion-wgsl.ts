/**
 * Emits the way of an integer into Montgomery form: cheaper than a multiplication by R², since nothing of it waits for
 * a digit before.
 *
 * Σ x_i · (2^(14 (i + 1)) R mod p) has n columns of n products of two digits, which fit 32 bits; each residue is
 * balanced, so the sum is within n · 2^12 p. A Montgomery step takes 14 bits off: n / 4 p and half a p are left, which
 * `tidy` brings to ±0.52 p.
 */
import { balanced, DIGIT_BITS, type DigitField, montgomeryFactor, toDigits } from './digit-field.ts'
import { Body, montgomeryStep } from './multiplication-wgsl.ts'

/** `fn fq_to_montgomery(w)`: x · R for any unsigned integer x of the field's words, tidied. */
export function conversionWgsl(field: DigitField): string {
  const { name, digits: n, modulus } = field
  const type = name.toUpperCase()
  const rows = Array.from({ length: n }, (_, i) =>
    toDigits(balanced(montgomeryFactor(field) << BigInt(DIGIT_BITS * (i + 1)), modulus), n),
  )
  const body = new Body()
  for (let k = 0; k < n; k++) {
    const terms = rows.map((row, i) => `x.d${i} * ${row[k]}`)
    body.lines.push(`  var c${k} = ${terms.join(' + ')};`)
  }
  montgomeryStep(body, field, 0)
  const shifted = Array.from({ length: n }, (_, k) => (k === n - 1 ? '0' : `c${k + 1}`))
  return [
    `fn ${name}_to_montgomery(w: ${type}Packed) -> ${type} {`,
    `  let x = ${name}_from_plain(w);`,
    ...body.lines,
    `  return ${name}_tidy(${name}_light(${type}(${shifted.join(', ')})));`,
    '}',
    '',
  ].join('\n')
}
