const COORDINATES = 2u;
const SQUARES = 1u;
// x²; then y² and − x² x.
fn factors_of(step: u32, i: u32, squares: Squares) -> Factors {
  let right = coordinate(i, select(0u, 1u, step == 1u));
  var left = right;
  if (step == 2u) { left = fq_signed(squares.first, true); }
  return Factors(left, right);
}
