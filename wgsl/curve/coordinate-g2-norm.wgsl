// 1 / (c0 + c1 u) = (c0 − c1 u) / (c0² + c1²): one inversion in Fq serves an element of Fq2.
fn c_norm(d: C) -> FQ {
  var sum = FQ_ZERO;
  for (var step = 0u; step < params.three - 1u; step++) {
    let x = fq_select(d.c0, d.c1, step == 1u);
    sum = fq_add(sum, fq_mul(x, x));
  }
  return sum;
}
// a − b as c_norm takes it: to be multiplied.
fn c_denominator(a: C, b: C) -> C { return c_sub(a, b); }
