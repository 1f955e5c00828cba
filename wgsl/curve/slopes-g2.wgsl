// Element k of λ = e (d0 − d1 u) / (d0² + d1²), with e = y2 − y1 and d = x2 − x1, or e = 3 x1², which denominators-g2.wgsl
// left in the place of the sum's x, and d = 2 y1 for a doubling: (e0 d0 + e1 d1) + (e1 d0 − e0 d1) u.
@group(0) @binding(0) var<storage, read> points: array<FQPacked>;
@group(0) @binding(2) var<storage, read> kinds: array<u32>;
@group(0) @binding(3) var<storage, read> inverse: array<FQPacked>;
@group(0) @binding(4) var<storage, read> sums: array<FQPacked>;
@group(0) @binding(5) var<storage, read_write> slope: array<FQPacked>;
@group(0) @binding(6) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn slopes(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  let n = i / 2u;
  let k = i % 2u;
  if (n >= params.count) { return; }
  let kind = kinds[n];
  let operands = pair(n);
  let left = operands.x & NUMBER;
  let right = right_number(operands);
  let inverse_norm = inverse[n];
  var sum = FQSum();
  var value = FQ_ZERO;
  // Steps over one body: 0 and 1 the two products of the numerator's part, 2 the division.
  for (var step = 0u; step <= params.two; step++) {
    var a = value;
    var b = fq_unpack(inverse_norm);
    if (step < 2u) {
      let part = k ^ step;
      if (kind == DOUBLE) {
        a = fq_unpack(sums[x_place(params.first + n, part)]);
        b = fq_scale(signed_part(points[y_place(left, step)], operands.x), 2);
      } else {
        a = fq_sub(signed_part(points[y_place(right, part)], operands.y), signed_part(points[y_place(left, part)], operands.x));
        b = fq_sub(fq_unpack(points[x_place(right, step)]), fq_unpack(points[x_place(left, step)]));
      }
      b = fq_signed(b, (k & step) == 1u);
    }
    sum = fq_accumulate(sum, a, b);
    if (step > 0u) {
      value = fq_reduce(sum);
      sum = FQSum();
    }
  }
  if (kind <= DOUBLE) { slope[i] = fq_pack(value); }
}
