// Squaring in Fq2 by two multiplications in Fq, as steps around one body: (a0 + a1)(a0 − a1) + 2 a0 a1 u.
fn c_sqr(a: C) -> C {
  var real = FQ_ZERO;
  var result = C(FQ_ZERO, FQ_ZERO);
  for (var step = 0u; step < params.three - 1u; step++) {
    var x = fq_add(a.c0, a.c1);
    var y = fq_sub(a.c0, a.c1);
    if (step == 1u) { x = a.c0; y = fq_scale(a.c1, 2); }
    let product = fq_mul(x, y);
    if (step == 0u) { real = product; } else { result = C(real, product); }
  }
  return result;
}
