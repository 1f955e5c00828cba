// Where a round's pairs come from: the arithmetic of a reduction round, if `half` is not 0; else the points as they
// lie, if `blocks` is 1, or those of two halves of `operands` each, if it is 2; else a list. Past the number of
// `operands` there is no right one.
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;

// Operands as batch-affine.wgsl has them; NONE as the right one takes the left point as it is.
fn pair(i: u32) -> vec2<u32> {
  let k = params.first + i;
  if (params.half != 0u) { return tree_pair(k); }
  if (params.blocks == 2u) { return vec2(k, k + params.operands); }
  var operands = vec2(2u * k, 2u * k + 1u);
  if (params.blocks == 0u) { operands = pairs[k]; }
  if (2u * k + 1u >= params.operands) { operands.y = NONE; }
  return operands;
}

// Number of the right point, or of the left one where there is none: something that may be loaded before that is known.
fn right_number(operands: vec2<u32>) -> u32 {
  return select(operands.y, operands.x, (operands.y & NUMBER) == NONE) & NUMBER;
}

// A window has 2·half points A, then `blocks` blocks T_0 … T_(blocks−1) of half points. The round gives half points
// A'_j = A_2j + A_(2j+1), and blocks + 1 blocks of half/2: those of T halved likewise, and a new one of A's odd points,
// A_(4j+1) + A_(4j+3). See bucket-reduction.ts.
fn tree_pair(n: u32) -> vec2<u32> {
  let half = params.half;
  let per_window = half + (params.blocks + 1u) * half / 2u;
  let base = (n / per_window) * (2u + params.blocks) * half;
  let k = n % per_window;
  if (k < half) { return vec2(base + 2u * k, base + 2u * k + 1u); }
  let block = (k - half) / (half / 2u);
  let j = (k - half) % (half / 2u);
  if (block < params.blocks) {
    let at = base + (2u + block) * half + 2u * j;
    return vec2(at, at + 1u);
  }
  return vec2(base + 4u * j + 1u, base + 4u * j + 3u);
}
