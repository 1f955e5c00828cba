const C_ZERO = FQ_ZERO;
// A factor that brings a plain coordinate into Montgomery form.
const C_R2 = FQ_R2;
// y² = x³ + 4
fn c_curve_constant() -> C { return fq_scale(FQ_ONE, 4); }
fn read_coordinate(k: u32, canonical: ptr<function, bool>) -> C {
  let w = integer(encoded[k]);
  *canonical = *canonical && below_p(w);
  return fq_from_plain(w);
}
