// Walks over the digits of one scalar a thread and calls `entry(bucket, slot, operand)` for each that is not 0. Bucket
// `w · 2^(window − 1) + |d| − 1` holds the points whose digit in window w is ±d; the operand is the point's number with its sign.
struct MsmParams {
  // Points of this tile.
  points: u32,
  window: u32,
  windows: u32,
  // Number of the tile's first scalar in the buffer of scalars.
  first: u32,
}

fn walk_digits(i: u32) {
  var scalar = scalars[params.first + i];
  let other = r_minus(scalar);
  let negative = exceeds(scalar, other);
  if (negative) { scalar = other; }
  let half = 1u << (params.window - 1u);
  var carry = 0u;
  for (var w = 0u; w < params.windows; w++) {
    let value = (scalar.low.x & (2u * half - 1u)) + carry;
    scalar = shifted(scalar, params.window);
    let over = value > half;
    carry = u32(over);
    let magnitude = select(value, 2u * half - value, over);
    if (magnitude == 0u) { continue; }
    entry(w * half + magnitude - 1u, w * params.points + i, i | select(0u, 0x80000000u, over != negative));
  }
}
