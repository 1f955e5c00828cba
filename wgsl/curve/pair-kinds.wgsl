// Per pair: what its sum is, which is kept, and what to divide by (1 where there is nothing to).
struct Point { x: CPacked, y: CPacked }
struct Prepared { kind: u32, d: C }

@group(0) @binding(0) var<storage, read> points: array<Point>;
@group(0) @binding(2) var<storage, read_write> kinds: array<u32>;

fn signed_y(y: CPacked, operand: u32) -> C { return c_signed(c_unpack(y), (operand & NEGATE) != 0u); }

fn prepare(i: u32) -> Prepared {
  let operands = pair(i);
  var kind = ADD;
  var d = c_one();
  let no_right = (operands.y & NUMBER) == NONE;
  let left = points[operands.x & NUMBER].x;
  let right = points[right_number(operands)].x;
  let left_infinite = c_is_infinity(left);
  if (no_right) {
    kind = select(LEFT, INFINITY, left_infinite);
  } else {
    if (left_infinite || c_is_infinity(right)) {
      kind = select(LEFT, select(RIGHT, INFINITY, c_is_infinity(right)), left_infinite);
    } else {
      let difference = c_denominator(c_unpack(right), c_unpack(left));
      // The exact test behind a cheap one: an inequality is seen by the low digit nearly always.
      if (c_may_be_zero(difference) && c_is_zero(difference)) {
        let y1 = signed_y(points[operands.x & NUMBER].y, operands.x);
        let y2 = signed_y(points[operands.y & NUMBER].y, operands.y);
        // Equal x: the same point, or its negative (also the only case with y = 0).
        let opposite = c_is_zero(c_add(y1, y2));
        kind = select(DOUBLE, INFINITY, opposite);
        if (!opposite) { d = c_scale(y1, 2); }
      } else {
        d = difference;
      }
    }
  }
  kinds[i] = kind;
  return Prepared(kind, d);
}
