// λ = (y2 − y1) / (x2 − x1), or 3 x1² / (2 y1) for a doubling.
@group(0) @binding(0) var<storage, read> points: array<FQPacked>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> inverse: array<FQPacked>;
@group(0) @binding(4) var<storage, read_write> slope: array<FQPacked>;
@group(0) @binding(5) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn slopes(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let n = workgroup_number(group, groups) * workgroup_size + local;
  if (n >= params.count) { return; }
  let kind = kinds[n];
  let operands = pair(n);
  let inverse_d = inverse[n];
  let y1 = signed_part(points[y_place(operands.x & NUMBER, 0u)], operands.x);
  let y2 = signed_part(points[y_place(right_number(operands), 0u)], operands.y);
  let doubling = kind == DOUBLE;
  var value = fq_sub(y2, y1);
  // Loaded only where it is needed: nearly never.
  if (doubling) { value = fq_unpack(points[x_place(operands.x & NUMBER, 0u)]); }
  // Steps over one body: 0 the square of a doubling, 1 the division.
  for (var step = select(1u, 0u, doubling); step < params.two; step++) {
    var factor = value;
    if (step == 1u) { factor = fq_unpack(inverse_d); }
    value = fq_mul(value, factor);
    if (step == 0u) { value = fq_scale(value, 3); }
  }
  // A product is carried, and small enough to be stored for another multiplication.
  if (kind <= DOUBLE) { slope[n] = fq_pack(value); }
}
