// Multiplication in Fq2 by three of Fq (Karatsuba), as steps around one body: a·b = (a0 b0 − a1 b1) + ((a0 + a1)(b0 +
// b1) − a0 b0 − a1 b1) u. `three` comes at run time (a uniform's 3), else a compiler would unroll the loop into three
// bodies. Of a `real` b, b1 is 0: two steps do.
fn c_mul_steps(a: C, b: C, real: bool, three: u32) -> C {
  var low = FQ_ZERO;
  var high = FQ_ZERO;
  var result = C(FQ_ZERO, FQ_ZERO);
  for (var step = 0u; step < three; step++) {
    if (real && step == 1u) { continue; }
    var x = a.c0;
    var y = b.c0;
    if (step == 1u) { x = a.c1; y = b.c1; }
    if (step == 2u) { x = fq_add(a.c0, a.c1); y = fq_add(b.c0, b.c1); }
    let product = fq_mul(x, y);
    if (step == 0u) { low = product; }
    if (step == 1u) { high = product; }
    if (step == 2u) { result = C(fq_sub(low, high), fq_sub(fq_sub(product, low), high)); }
  }
  return result;
}
fn c_mul(a: C, b: C) -> C { return c_mul_steps(a, b, false, params.three); }
fn c_mul_by(a: C, b: C, real: bool) -> C { return c_mul_steps(a, b, real, params.three); }
