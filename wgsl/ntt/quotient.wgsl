// h = d · power − c · constant by coefficients, all in bit-reversed order, as plain integers in place of d; one shard.
// The powers are those of 1/g times all constants of the first term.
@group(0) @binding(0) var<storage, read_write> on_coset: array<FRPacked>;
@group(0) @binding(1) var<storage, read> on_domain: array<FRPacked>;
@group(0) @binding(2) var<storage, read> low_powers: array<FRPacked>;
@group(0) @binding(3) var<storage, read> high_powers: array<FRPacked>;
@group(0) @binding(4) var<storage, read> constant: array<FRPacked>;
@group(0) @binding(5) var<uniform> params: ShardParams;

@compute @workgroup_size(64)
fn quotient_coefficients(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.count) { return; }
  on_coset[i] = fr_to_plain(fr_sub(fr_mul(fr_unpack(on_coset[i]), power_at(i)), fr_mul(fr_unpack(on_domain[i]), fr_unpack(constant[0]))));
}
