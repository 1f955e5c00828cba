// y3 = λ (x1 − x3) − y1, and the whole sum; copies and infinity too.
@group(0) @binding(0) var<storage, read> points: array<Point>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> slope: array<CPacked>;
@group(0) @binding(4) var<storage, read> sum_of_x: array<CPacked>;
@group(0) @binding(5) var<storage, read_write> sums: array<Point>;
@group(0) @binding(6) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn sum_y(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  if (i >= params.count) { return; }
  let kind = kinds[i];
  let operands = pair(i);
  let at = params.first + i;
  if (kind == INFINITY) {
    sums[at] = Point(c_infinity(), c_infinity());
    return;
  }
  let operand = select(operands.x, operands.y, kind == RIGHT);
  let point = points[operand & NUMBER];
  if (kind > DOUBLE) {
    sums[at] = Point(point.x, c_pack(c_tidy(signed_y(point.y, operand))));
    return;
  }
  let x = sum_of_x[i];
  let product = c_mul(c_unpack(slope[i]), c_sub(c_unpack(point.x), c_unpack(x)));
  sums[at] = Point(x, c_pack(c_tidy(c_minus(product, signed_y(point.y, operand)))));
}
