const C_ZERO = C(FQ_ZERO, FQ_ZERO);
// A factor that brings a plain coordinate into Montgomery form.
const C_R2 = C(FQ_R2, FQ_ZERO);
// y² = x³ + 4 (1 + u)
fn c_curve_constant() -> C {
  let four = fq_scale(FQ_ONE, 4);
  return C(four, four);
}
fn read_coordinate(k: u32, canonical: ptr<function, bool>) -> C {
  let c1 = integer(encoded[2u * k]);
  let c0 = integer(encoded[2u * k + 1u]);
  *canonical = *canonical && below_p(c0) && below_p(c1);
  return C(fq_from_plain(c0), fq_from_plain(c1));
}
