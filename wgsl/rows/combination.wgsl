@group(0) @binding(1) var<storage, read> coefficients: array<FRPacked>;

// Coefficients of terms: small integers as such, or a number in the table.
const SMALL = 0x80000000u;
const SMALL_ORIGIN = 0x8000;
const MINUS_ONE = SMALL + 0x7fffu;

// Σ coefficient · z over terms (variable, coefficient) `from` up to `to`, for one instance. Coefficients of the table
// are in Montgomery form, so products are plain. The term of variable `skip` is left out. Digits are carried at the
// end, twice: the first time by up to 2^10.
fn combination(start: u32, end: u32, record: u32, skip: u32) -> FR {
  var sum = FR_ZERO;
  for (var t = start; t < end; t++) {
    let variable = table[params.terms_at + 2u * t];
    let coefficient = table[params.terms_at + 2u * t + 1u];
    if (variable == skip) { continue; }
    let digits = fr_digits(z_load(place(variable, record)));
    if ((coefficient & SMALL) != 0u) {
      sum = fr_plus_scaled(sum, digits, i32(coefficient & ~SMALL) - SMALL_ORIGIN);
    } else {
      sum = fr_plus(sum, fr_mul(fr_light(digits), fr_unpack(coefficients[coefficient])));
    }
  }
  return fr_light(fr_light(sum));
}
