// Batch inversion, first half. A thread takes the elements t, t + threads, t + 2 threads, …: `prefix` gets the product
// of those before each, `total` the product of all.
struct BatchParams { count: u32, threads: u32 }

@group(0) @binding(0) var<storage, read> element: array<FQPacked>;
@group(0) @binding(1) var<storage, read_write> prefix: array<FQPacked>;
@group(0) @binding(2) var<storage, read_write> total: array<FQPacked>;
@group(0) @binding(3) var<uniform> params: BatchParams;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn products(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let t = workgroup_number(group, groups) * workgroup_size + local;
  if (t >= params.threads) { return; }
  var product = FQ_ONE;
  var upcoming = element[t];
  for (var i = t; i < params.count; i += params.threads) {
    // The next one is loaded a multiplication ahead.
    let factor = fq_unpack(upcoming);
    if (i + params.threads < params.count) { upcoming = element[i + params.threads]; }
    // A product is carried, and small enough to be stored for another multiplication.
    prefix[i] = fq_pack(product);
    product = fq_mul(product, factor);
  }
  total[t] = fq_pack(fq_tidy(product));
}
