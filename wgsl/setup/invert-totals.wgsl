// Each total to a constant over it.
struct InvertParams { count: u32, batches: u32 }

// Number 3 is the factor.
@group(0) @binding(0) var<storage, read> constants: array<FRPacked>;
@group(0) @binding(1) var<storage, read_write> totals: array<FRPacked>;
@group(0) @binding(2) var<uniform> params: InvertParams;

@compute @workgroup_size(64)
fn invert_totals(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.count) { return; }
  totals[i] = fr_pack(fr_tidy(fr_mul(fr_invert(fr_unpack(totals[i]), params.batches), fr_unpack(constants[3]))));
}
