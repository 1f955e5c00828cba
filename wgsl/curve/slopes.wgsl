// λ = (y2 − y1) / (x2 − x1), or 3 x1² / (2 y1) for a doubling.
@group(0) @binding(0) var<storage, read> points: array<Point>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> inverse: array<FQPacked>;
@group(0) @binding(4) var<storage, read_write> slope: array<CPacked>;
@group(0) @binding(5) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn slopes(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  if (i >= params.count) { return; }
  let kind = kinds[i];
  let operands = pair(i);
  let inverse_norm = inverse[i];
  let y1 = signed_y(points[operands.x & NUMBER].y, operands.x);
  let y2 = signed_y(points[right_number(operands)].y, operands.y);
  let doubling = kind == DOUBLE;
  var value = y1;
  var d = y1;
  // x is loaded only where it is needed: nearly never in G1.
  if (doubling) {
    value = c_unpack(points[operands.x & NUMBER].x);
    d = c_scale(y1, 2);
  } else {
    value = c_sub(y2, y1);
    if (!CONJUGATE_IS_ONE) { d = c_sub(c_unpack(points[right_number(operands)].x), c_unpack(points[operands.x & NUMBER].x)); }
  }
  // Steps over one body: 0 the square of a doubling, 1 the conjugate, 2 the inverse norm, an element of Fq.
  for (var step = select(select(1u, 2u, CONJUGATE_IS_ONE), 0u, doubling); step < params.three; step++) {
    if (step == 1u && CONJUGATE_IS_ONE) { continue; }
    var factor = value;
    if (step == 1u) { factor = c_conjugate(d); }
    if (step == 2u) { factor = c_embed(fq_unpack(inverse_norm)); }
    value = c_mul_by(value, factor, step == 2u);
    if (step == 0u) { value = c_scale(value, 3); }
  }
  if (kind <= DOUBLE) { slope[i] = c_pack_product(value); }
}
