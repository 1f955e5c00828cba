// Element k of x3 = λ² − x1 − x2, kept apart from the sums: a half of a point would be written over half a sector of
// memory.
@group(0) @binding(0) var<storage, read> points: array<FQPacked>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> slope: array<FQPacked>;
@group(0) @binding(4) var<storage, read_write> sum_of_x: array<FQPacked>;
@group(0) @binding(5) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn sum_x(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  let n = i / COMPONENTS;
  let k = i % COMPONENTS;
  if (n >= params.count || kinds[n] > DOUBLE) { return; }
  let operands = pair(n);
  // Not loaded before: measured, a square without them beside it takes less.
  let square = square_part(n, k);
  let x1 = fq_unpack(points[x_place(operands.x & NUMBER, k)]);
  let x2 = fq_unpack(points[x_place(operands.y & NUMBER, k)]);
  sum_of_x[i] = fq_pack(fq_tidy(fq_minus(fq_minus(square, x1), x2)));
}
