const COORDINATES = 2u;
const SQUARES = 1u;
// x²; then − x² x and y².
fn factors_of_x(step: u32, i: u32, squares: Squares) -> Factors {
  let x = coordinate(i, 0u);
  var left = x;
  if (step == 1u) { left = fq_signed(squares.first, true); }
  return Factors(left, x);
}
fn factors_of_y(step: u32, i: u32) -> Factors {
  let y = coordinate(i, 1u);
  return Factors(y, y);
}
