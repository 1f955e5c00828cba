// Kinds and denominators of pairs of G1, together with products.wgsl, whose elements the denominators are: a thread takes the pairs t, t + threads, …
@group(0) @binding(3) var<storage, read_write> denominator: array<FQPacked>;
@group(0) @binding(4) var<storage, read_write> prefix: array<FQPacked>;
@group(0) @binding(5) var<storage, read_write> total: array<FQPacked>;
@group(0) @binding(6) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn denominator_products(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let t = workgroup_number(group, groups) * workgroup_size + local;
  if (t >= params.threads) { return; }
  var product = FQ_ONE;
  for (var i = t; i < params.count; i += params.threads) {
    let d = fq_tidy(prepare(i).d);
    denominator[i] = fq_pack(d);
    prefix[i] = fq_pack(product);
    product = fq_mul(product, d);
  }
  total[t] = fq_pack(fq_tidy(product));
}
