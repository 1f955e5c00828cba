const COORDINATES = 4u;
const SQUARES = 2u;
// With x = x0 + x1 u and u² = −1: x³ = x0 (x0² − 3 x1²) + x1 (3 x0² − x1²) u, y² = (y0 + y1)(y0 − y1) + 2 y0 y1 u.
// x0²; x1²; then the real parts of − x³ and y²; then their other parts.
fn factors_of_x(step: u32, i: u32, squares: Squares) -> Factors {
  let x = coordinate(i, step & 1u);
  var left = x;
  if (step == 2u) { left = fq_light(fq_signed(fq_plus_scaled(squares.first, squares.second, -3), true)); }
  if (step == 3u) { left = fq_light(fq_plus_scaled(squares.second, squares.first, -3)); }
  return Factors(left, x);
}
fn factors_of_y(step: u32, i: u32) -> Factors {
  let y0 = coordinate(i, 2u);
  let y1 = coordinate(i, 3u);
  if (step == 2u) { return Factors(fq_add(y0, y1), fq_sub(y0, y1)); }
  return Factors(fq_scale(y0, 2), y1);
}
