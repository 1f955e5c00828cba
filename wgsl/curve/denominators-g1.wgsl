// Kinds and denominators of pairs, one a thread.
@group(0) @binding(3) var<storage, read_write> denominator: array<FQPacked>;
@group(0) @binding(4) var<uniform> params: Params;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn denominators(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let n = workgroup_number(group, groups) * workgroup_size + local;
  if (n < params.count) { denominator[n] = fq_pack(fq_tidy(prepare(n).d)); }
}
