// x3 = λ² − x1 − x2, kept apart from the sums: a half of a point would be written over half a sector of memory.
@group(0) @binding(0) var<storage, read> points: array<Point>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> slope: array<CPacked>;
@group(0) @binding(4) var<storage, read_write> sum_of_x: array<CPacked>;
@group(0) @binding(5) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn sum_x(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  if (i >= params.count || kinds[i] > DOUBLE) { return; }
  let operands = pair(i);
  // Not loaded before: measured, a square without them beside it takes less.
  let square = c_sqr(c_unpack(slope[i]));
  let x1 = c_unpack(points[operands.x & NUMBER].x);
  let x2 = c_unpack(points[operands.y & NUMBER].x);
  sum_of_x[i] = c_pack(c_tidy(c_minus(c_minus(square, x1), x2)));
}
