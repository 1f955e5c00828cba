// Element k of y3 = λ (x1 − x3) − y1, and of the whole sum; copies and infinity too.
@group(0) @binding(0) var<storage, read> points: array<FQPacked>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> slope: array<FQPacked>;
@group(0) @binding(4) var<storage, read> sum_of_x: array<FQPacked>;
@group(0) @binding(5) var<storage, read_write> sums: array<FQPacked>;
@group(0) @binding(6) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn sum_y(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  let n = i / COMPONENTS;
  let k = i % COMPONENTS;
  if (n >= params.count) { return; }
  let kind = kinds[n];
  let operands = pair(n);
  // Of copies and infinity, slope and x are whatever is there.
  let operand = select(operands.x, operands.y, kind == RIGHT);
  let point = operand & NUMBER;
  var x = sum_of_x[i];
  let left_x = points[x_place(point, k)];
  let left_y = points[y_place(point, k)];
  let product = product_part(n, k, point);
  let y = signed_part(left_y, operand);
  let copied = kind > DOUBLE;
  var y3 = fq_pack(fq_tidy(fq_select(fq_minus(product, y), y, copied)));
  if (copied) { x = left_x; }
  if (kind == INFINITY) { x = FQPacked(); y3 = FQPacked(); }
  sums[x_place(params.first + n, k)] = x;
  sums[y_place(params.first + n, k)] = y3;
}
