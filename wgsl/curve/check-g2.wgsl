const COORDINATES = 4u;
const SQUARES = 2u;
// With x = x0 + x1 u and u² = −1: x³ = x0 (x0² − 3 x1²) + x1 (3 x0² − x1²) u, y² = (y0 + y1)(y0 − y1) + 2 y0 y1 u.
// x0², x1²; then − the real part of x³ and that of y²; then − x³'s other part and y²'s.
fn factors_of(step: u32, i: u32, squares: Squares) -> Factors {
  let of_y = step == 3u || step == 5u;
  let a = coordinate(i, select(select(0u, 1u, step == 1u || step == 4u), 2u, of_y));
  var left = a;
  var right = a;
  if (step == 2u) { left = fq_light(fq_signed(fq_plus_scaled(squares.first, squares.second, -3), true)); }
  if (step == 4u) { left = fq_light(fq_plus_scaled(squares.second, squares.first, -3)); }
  if (of_y) {
    let b = coordinate(i, 3u);
    if (step == 3u) {
      left = fq_add(a, b);
      right = fq_sub(a, b);
    } else {
      left = fq_scale(a, 2);
      right = b;
    }
  }
  return Factors(left, right);
}
