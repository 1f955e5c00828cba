// Sums of pairs of affine points, as separate kernels of one multiplication each:
//   d = x2 − x1, 1/d by products over many pairs, λ = (y2 − y1)/d, x3 = λ² − x1 − x2, y3 = λ (x1 − x3) − y1.
// Every kernel looks at pair `first + n` of a round and writes slot n of the work buffers. From the slopes on a thread
// makes one element of Fq, so that two threads side by side share a pair in G2: each element of Fq2 is one or two
// products in Fq and one reduction, and no thread holds more than in G1.
//
// Registers leave room for few threads, so a thread should wait for memory as few times as it can: what does not depend
// on loaded values is loaded at once, whether it turns out to be needed or not, and conditions stand where something is
// stored.

struct Params {
  // Pairs in this slice of the round, and the number of its first one.
  count: u32,
  first: u32,
  // 2, unknown to the compiler: keeps loops around a multiplication from being unrolled.
  two: u32,
  // Where the pairs come from: see pairs.wgsl.
  blocks: u32,
  half: u32,
  operands: u32,
  // Of denominator-products.wgsl: what their number is.
  threads: u32,
}

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

// Where element k of a point's x and y is, in a buffer of elements of Fq.
fn x_place(point: u32, k: u32) -> u32 { return 2u * COMPONENTS * point + k; }
fn y_place(point: u32, k: u32) -> u32 { return 2u * COMPONENTS * point + COMPONENTS + k; }

// An element of y, as the operand's sign has it.
fn signed_part(y: FQPacked, operand: u32) -> FQ { return fq_signed(fq_unpack(y), (operand & NEGATE) != 0u); }
