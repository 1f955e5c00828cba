// y3 = λ (x1 − x3) − y1.
@group(0) @binding(0) var<storage, read> points: array<Point>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> slope: array<CPacked>;
@group(0) @binding(4) var<storage, read_write> sums: array<Point>;
@group(0) @binding(5) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn sum_y(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  if (i >= params.count || kinds[i] > DOUBLE) { return; }
  let operand = pair(i).x;
  let left = points[operand & NUMBER];
  let at = params.first + i;
  let difference = c_sub(c_unpack(left.x), c_unpack(sums[at].x));
  let product = c_mul(c_unpack(slope[i]), difference);
  sums[at].y = c_pack(c_tidy(c_sub(product, signed_y(left.y, operand))));
}
