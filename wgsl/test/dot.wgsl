// partials[t] += Σ x·y, or x·y·w, over the elements t, t + threads, …; everything plain. 2 steps, or 4 with a third
// factor.
struct DotParams { count: u32, threads: u32, x_first: u32, y_first: u32, w_first: u32, steps: u32 }

@group(0) @binding(0) var<storage, read> x: array<FRPacked>;
@group(0) @binding(1) var<storage, read> y: array<FRPacked>;
@group(0) @binding(2) var<storage, read> w: array<FRPacked>;
@group(0) @binding(3) var<storage, read_write> partials: array<FRPacked>;
@group(0) @binding(4) var<uniform> params: DotParams;

@compute @workgroup_size(64)
fn dot_product(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let t = workgroup_number(group, groups) * 64u + local;
  if (t >= params.threads) { return; }
  var sum = fr_from_plain(partials[t]);
  for (var i = t; i < params.count; i += params.threads) {
    var product = fr_from_plain(x[params.x_first + i]);
    for (var step = 0u; step < params.steps; step++) {
      var factor = FR_R2;
      if (step == 1u) { factor = fr_from_plain(y[params.y_first + i]); }
      if (step == 3u) { factor = fr_from_plain(w[params.w_first + i]); }
      product = fr_mul(product, factor);
    }
    sum = fr_tidy(fr_add(sum, product));
  }
  partials[t] = fr_to_plain(sum);
}
