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
  // Of copies and infinity, whatever is there.
  let lambda = slope[i];
  let x = sum_of_x[i];
  let operand = select(operands.x, operands.y, kind == RIGHT);
  let point = points[operand & NUMBER];
  let product = c_mul(c_unpack(lambda), c_sub(c_unpack(point.x), c_unpack(x)));
  let y = signed_y(point.y, operand);
  let copied = kind > DOUBLE;
  var sum = Point(x, c_pack(c_tidy(c_select(c_minus(product, y), y, copied))));
  if (copied) { sum.x = point.x; }
  if (kind == INFINITY) { sum = Point(c_infinity(), c_infinity()); }
  sums[params.first + i] = sum;
}
