// x3 = λ² − x1 − x2; copies and infinity are written whole here.
@group(0) @binding(0) var<storage, read> points: array<Point>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> slope: array<CPacked>;
@group(0) @binding(4) var<storage, read_write> sums: array<Point>;
@group(0) @binding(5) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn sum_x(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  if (i >= params.count) { return; }
  let kind = kinds[i];
  let operands = pair(i);
  let at = params.first + i;
  if (kind == INFINITY) {
    sums[at] = Point(c_infinity(), c_infinity());
    return;
  }
  if (kind == LEFT || kind == RIGHT) {
    let operand = select(operands.x, operands.y, kind == RIGHT);
    let point = points[operand & NUMBER];
    sums[at] = Point(point.x, c_pack(c_tidy(signed_y(point.y, operand))));
    return;
  }
  let square = c_sqr(c_unpack(slope[i]));
  let x1 = c_unpack(points[operands.x & NUMBER].x);
  let x2 = c_unpack(points[operands.y & NUMBER].x);
  sums[at].x = c_pack(c_tidy(c_sub(c_sub(square, x1), x2)));
}
