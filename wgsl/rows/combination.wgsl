@group(0) @binding(1) var<storage, read> coefficients: array<FRPacked>;

// Σ coefficient · z over terms (variable, coefficient number) `from` up to `to`, for one instance. Coefficients are in Montgomery form, so
// products are plain; number 0 is 1 and number 1 is −1. The term of variable `skip` is left out.
fn combination(start: u32, end: u32, record: u32, skip: u32) -> FR {
  var sum = FR_ZERO;
  for (var t = start; t < end; t++) {
    let variable = table[params.terms_at + 2u * t];
    let coefficient = table[params.terms_at + 2u * t + 1u];
    if (variable == skip) { continue; }
    var value = fr_from_plain(z_load(place(variable, record)));
    if (coefficient > 1u) { value = fr_mul(value, fr_unpack(coefficients[coefficient])); }
    if (coefficient == 1u) { sum = fr_sub(sum, value); } else { sum = fr_add(sum, value); }
  }
  return sum;
}
