// λ (x − x3).
fn product_part(n: u32, k: u32, point: u32) -> FQ {
  let lambda = slope[n];
  let x = sum_of_x[n];
  return fq_mul(fq_unpack(lambda), fq_sub(fq_unpack(points[x_place(point, 0u)]), fq_unpack(x)));
}
