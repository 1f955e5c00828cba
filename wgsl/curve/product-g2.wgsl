// Element k of λ e, with e = x − x3: (λ0 e0 − λ1 e1) + (λ0 e1 + λ1 e0) u.
fn product_part(n: u32, k: u32, point: u32) -> FQ {
  var sum = FQSum();
  for (var step = 0u; step < params.two; step++) {
    let part = k ^ step;
    let difference = fq_minus(fq_unpack(points[x_place(point, part)]), fq_unpack(sum_of_x[2u * n + part]));
    let e = fq_light(fq_signed(difference, step == 1u && k == 0u));
    sum = fq_accumulate(sum, fq_unpack(slope[2u * n + step]), e);
  }
  return fq_reduce(sum);
}
