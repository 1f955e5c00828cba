// Sums of pairs of affine points, as separate kernels of one multiplication each:
//   d = x2 − x1, 1/d by products over many pairs, λ = (y2 − y1)/d, x3 = λ² − x1 − x2, y3 = λ (x1 − x3) − y1.
// Every kernel looks at pair `first + i` of a round and writes slot i of the work buffers.
//
// Registers leave room for few threads, so a thread should wait for memory as few times as it can: what does not depend
// on loaded values is loaded at once, whether it turns out to be needed or not, and conditions stand where something is
// stored.

struct Params {
  // Pairs in this slice of the round, and the number of its first one.
  count: u32,
  first: u32,
  // 3, unknown to the compiler: keeps loops around a multiplication from being unrolled.
  three: u32,
  // Where the pairs come from: see pairs.wgsl.
  blocks: u32,
  half: u32,
  operands: u32,
  // Of denominator-products.wgsl: what their number is.
  threads: u32,
}

struct Point { x: CPacked, y: CPacked }

// Operand of a pair: number of the point, the sign of its y in the top bit.
const NONE = 0x7fffffffu;
const NUMBER = 0x7fffffffu;
const NEGATE = 0x80000000u;

// What the sum of a pair is.
const ADD = 0u;
const DOUBLE = 1u;
const LEFT = 2u;
const RIGHT = 3u;
const INFINITY = 4u;

fn signed_y(y: CPacked, operand: u32) -> C {
  return c_signed(c_unpack(y), (operand & NEGATE) != 0u);
}
