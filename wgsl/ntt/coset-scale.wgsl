// Coefficients in bit-reversed order times powers; one shard.
@group(0) @binding(0) var<storage, read_write> elements: array<FRPacked>;
@group(0) @binding(1) var<storage, read> low_powers: array<FRPacked>;
@group(0) @binding(2) var<storage, read> high_powers: array<FRPacked>;
@group(0) @binding(3) var<uniform> params: ShardParams;

@compute @workgroup_size(64)
fn coset_scale(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.count) { return; }
  elements[i] = fr_pack(fr_tidy(fr_mul(fr_unpack(elements[i]), power_at(i))));
}
