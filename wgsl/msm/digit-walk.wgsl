// Walks over the digits of one scalar a thread and calls `entry(bucket, slot, operand)` for each that is not 0, in the
// windows from `first_window` up to `end_window`. Of sum number s of several, bucket
// `(w · sums + s) · 2^(window − 1) + |d| − 1` holds the points whose digit in window w is ±d; the operand is the
// point's number with its sign; the slot is a number that no other digit of all windows has.
struct MsmParams {
  // Points of all sums.
  points: u32,
  window: u32,
  first_window: u32,
  end_window: u32,
  // Number of the sum's first scalar in the buffer of scalars.
  first: u32,
  // Points to walk over in this dispatch: from the first number up to the second.
  begin: u32,
  end: u32,
  // Sums that are made together, and the number of the one that these points belong to.
  sums: u32,
  sum: u32,
}

fn walk_digits(i: u32) {
  var scalar = scalars[params.first + i];
  let other = r_minus(scalar);
  let negative = exceeds(scalar, other);
  if (negative) { scalar = other; }
  let half = 1u << (params.window - 1u);
  var carry = 0u;
  for (var w = 0u; w < params.end_window; w++) {
    let value = (scalar.low.x & (2u * half - 1u)) + carry;
    scalar = shifted(scalar, params.window);
    let over = value > half;
    carry = u32(over);
    let magnitude = select(value, 2u * half - value, over);
    if (magnitude == 0u || w < params.first_window) { continue; }
    entry((w * params.sums + params.sum) * half + magnitude - 1u, w * params.points + i, i | select(0u, 0x80000000u, over != negative));
  }
}
