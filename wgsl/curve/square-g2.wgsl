// Element k of λ² = (λ0 + λ1)(λ0 − λ1) + 2 λ0 λ1 u.
fn square_part(n: u32, k: u32) -> FQ {
  let first = fq_unpack(slope[2u * n]);
  let second = fq_unpack(slope[2u * n + 1u]);
  let real = k == 0u;
  let left = fq_select(fq_plus(first, first), fq_plus(first, second), real);
  return fq_mul(fq_light(left), fq_select(second, fq_sub(first, second), real));
}
