// Kinds of pairs, one a thread, and the norms of their denominators: 1 / (d0 + d1 u) = (d0 − d1 u) / (d0² + d1²), so
// that one inversion in Fq serves an element of Fq2. Of a doubling also the numerator of its slope, 3 x², which has the
// place of the sum's x until that is there.
@group(0) @binding(3) var<storage, read_write> norm: array<FQPacked>;
@group(0) @binding(4) var<storage, read_write> sums: array<FQPacked>;
@group(0) @binding(5) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn denominators(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let n = workgroup_number(group, groups) * workgroup_size + local;
  if (n >= params.count) { return; }
  let prepared = prepare(n);
  let d = prepared.d;
  var sum = FQSum();
  // Steps over one body: d0², d1², and for a doubling (x0 + x1)(x0 − x1) and 2 x0 x1.
  let steps = select(params.two, 2u * params.two, prepared.kind == DOUBLE);
  for (var step = 0u; step < steps; step++) {
    var left = d.c0;
    var right = d.c0;
    if (step == 1u) { left = d.c1; right = d.c1; }
    if (step > 1u) {
      let x = c_unpack(points[pair(n).x & NUMBER].x);
      left = fq_add(x.c0, x.c1);
      right = fq_sub(x.c0, x.c1);
      if (step == 3u) { left = fq_scale(x.c0, 2); right = x.c1; }
    }
    sum = fq_accumulate(sum, left, right);
    if (step == 0u) { continue; }
    let value = fq_reduce(sum);
    sum = FQSum();
    if (step == 1u) { norm[n] = fq_pack(value); }
    else { sums[x_place(params.first + n, step - 2u)] = fq_pack(fq_tidy(fq_scale(value, 3))); }
  }
}
