/**
 * Emits the inversion of a {@link DigitField} in WGSL: `fn fq_invert(a)`, by divsteps (Bernstein and Yang, "Fast
 * constant-time gcd computation and modular inversion", 2019) in the variant with half-integer δ that Pieter Wuille
 * found for libsecp256k1.
 *
 * From f = p, g = a each step halves a combination of f and g, chosen by g's low bit and by δ; f ends as ±1, g as 0.
 * Which steps come depends on the low bits only, so {@link STEPS} of them are worked out on the lowest digit and
 * gathered in a matrix, |entries| <= 2^14:
 *     (f, g) ← (u f + v g, q f + r g) / 2^14,    (d, e) ← (u d + v e, q d + r e) / 2^14 mod p,
 * which keeps d · a ≡ f · R² and e · a ≡ g · R² from d = 0, e = R². The division mod p first adds the multiple of p
 * that clears the low digit. The result ±d is a^−1 · R²: of a = x R that is x^−1 R, the Montgomery form, without one
 * multiplication.
 *
 * Bounds. |u| + |v| and |q| + |r| are at most 2^14 and digits balanced, so a column is at most 2^27 + 2^26 before its
 * carry. f and g never grow. d and e grow by at most p/2 a batch, 32 p in all: nothing beside the 2^11 p that the
 * digits hold.
 *
 * Number of steps: for 0 <= g <= f < 2^n, ⌊(45907 n + 26313) / 19929⌋ suffice (Wuille, "safegcd-bounds"), hence the
 * sign of a is taken out first. For Fq these are 878, here 63 batches of 14.
 */
import { DIGIT_BITS, type DigitField, invert, mod, toDigits } from './digit-field.ts'

/** Divsteps that one matrix gathers: the bits of a digit. */
const STEPS = DIGIT_BITS

/** Batches after which f = ±1 for every input. */
export function inversionBatches(field: DigitField): number {
  const bits = field.modulus.toString(2).length
  return Math.ceil(Math.floor((45907 * bits + 26313) / 19929) / STEPS)
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i)

/** `fn fq_invert(a, batches)`: a^−1 in Montgomery form, 0 of 0. */
export function inversionWgsl(field: DigitField): string {
  const { name, digits, modulus } = field
  const type = name.toUpperCase()
  const p = toDigits(modulus, digits)
  const base = 1n << BigInt(DIGIT_BITS)
  const negativeInverse = Number(mod(-invert(mod(modulus, base), base), base))
  const last = digits - 1
  // Carried column by column; the digit that leaves column i goes to place i − 1.
  const shifted = (column: (i: number) => string): string[] => [
    `  var k = (${column(0)}) >> 14u;`,
    ...range(last).flatMap((i) => [
      `  let t${i} = ${column(i + 1)} + k;`,
      `  k = (t${i} + 8192) >> 14u;`,
      `  let r${i} = t${i} - (k << 14u);`,
    ]),
    `  return ${type}(${range(last)
      .map((i) => `r${i}`)
      .join(', ')}, k);`,
  ]
  const term = (digit: number): string => (digit === 0 ? '' : digit < 0 ? ` - m * ${-digit}` : ` + m * ${digit}`)
  return [
    `const ${type}_MODULUS: ${type} = ${type}(${p.join(', ')});`,
    '// (x a + y b) / 2^14, which is exact.',
    `fn ${name}_step(x: i32, y: i32, a: ${type}, b: ${type}) -> ${type} {`,
    ...shifted((i) => `x * a.d${i} + y * b.d${i}`),
    '}',
    '// (x a + y b) / 2^14 mod p: m p clears the low digit.',
    `fn ${name}_step_mod(x: i32, y: i32, a: ${type}, b: ${type}) -> ${type} {`,
    `  let low = (x * a.d0 + y * b.d0) & 16383;`,
    `  let m = (((low * ${negativeInverse}) & 16383) ^ 8192) - 8192;`,
    ...shifted((i) => `x * a.d${i} + y * b.d${i}${term(p[i] as number)}`),
    '}',
    `// x^−1 R of a = x R with |a| < p and digits as they are packed; 0 of 0. \`batches\` is ${inversionBatches(field)}, given at run time so that no compiler unrolls.`,
    `fn ${name}_invert(a: ${type}, batches: u32) -> ${type} {`,
    `  var f = ${type}_MODULUS;`,
    "  // Of the sign of a's highest digit that is not 0.",
    '  var leading = a.d0;',
    ...range(last).map((i) => `  leading = select(a.d${i + 1}, leading, a.d${i + 1} == 0);`),
    '  let sign = select(1, -1, leading < 0);',
    `  var g = ${name}_scale(a, sign);`,
    `  var d = ${type}_ZERO;`,
    `  var e = ${type}_R2;`,
    '  // −(δ + 1/2), δ = 1/2 at first.',
    '  var zeta = -1;',
    '  for (var batch = 0u; batch < batches; batch++) {',
    '    var u = 1; var v = 0; var q = 0; var r = 1;',
    '    var low_f = f.d0;',
    '    var low_g = g.d0;',
    '    for (var step = 0u; step < 14u; step++) {',
    '      // Masks: whether δ > 0, and whether g is odd. (c ^ x) − c negates x where c is −1.',
    '      var swap = zeta >> 31u;',
    '      let odd = -(low_g & 1);',
    '      low_g += ((low_f ^ swap) - swap) & odd;',
    '      q += ((u ^ swap) - swap) & odd;',
    '      r += ((v ^ swap) - swap) & odd;',
    '      swap &= odd;',
    '      zeta = (zeta ^ swap) - 1;',
    '      low_f += low_g & swap;',
    '      u = (u + (q & swap)) << 1u;',
    '      v = (v + (r & swap)) << 1u;',
    '      low_g >>= 1u;',
    '    }',
    `    let next_f = ${name}_step(u, v, f, g);`,
    `    g = ${name}_step(q, r, f, g);`,
    '    f = next_f;',
    `    let next_d = ${name}_step_mod(u, v, d, e);`,
    `    e = ${name}_step_mod(q, r, d, e);`,
    '    d = next_d;',
    '  }',
    '  // f is ±1, and d already 0 where a was.',
    `  return ${name}_tidy(${name}_scale(d, select(sign, -sign, (f.d0 & 16383) != 1)));`,
    '}',
    '',
  ].join('\n')
}
