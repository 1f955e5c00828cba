// Batch inversion, second half: from the inverse of each thread's total, backwards, 1/e_i = (1 / (e_0 … e_i)) · (e_0 …
// e_(i−1)). The inverses take the place of the prefixes.
struct BatchParams { count: u32, threads: u32, two: u32 }

@group(0) @binding(0) var<storage, read> element: array<FQPacked>;
@group(0) @binding(1) var<storage, read_write> prefix: array<FQPacked>;
@group(0) @binding(2) var<storage, read> total: array<FQPacked>;
@group(0) @binding(3) var<uniform> params: BatchParams;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn unbatch(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let t = workgroup_number(group, groups) * workgroup_size + local;
  if (t >= params.threads || t >= params.count) { return; }
  var suffix = fq_unpack(total[t]);
  let elements = (params.count - 1u - t) / params.threads + 1u;
  var factor = prefix[t + (elements - 1u) * params.threads];
  for (var k = elements; k > 0u; k--) {
    let i = t + (k - 1u) * params.threads;
    // Two steps over one body: the inverse, then the suffix without this element. The next factor is loaded a
    // multiplication ahead.
    for (var step = 0u; step < params.two; step++) {
      var upcoming = FQPacked();
      if (step == 0u) { upcoming = element[i]; } else if (k > 1u) { upcoming = prefix[i - params.threads]; }
      let product = fq_mul(suffix, fq_unpack(factor));
      if (step == 0u) { prefix[i] = fq_pack(product); } else { suffix = product; }
      factor = upcoming;
    }
  }
}
