// scalars[at + i] = factor · values[first + i], plain; the factor is in Montgomery form.
struct ScaleParams { count: u32, first: u32, at: u32 }

@group(0) @binding(0) var<storage, read> factor: array<FRPacked>;
@group(0) @binding(1) var<storage, read> values: array<FRPacked>;
@group(0) @binding(2) var<storage, read_write> scalars: array<FRPacked>;
@group(0) @binding(3) var<uniform> params: ScaleParams;

@compute @workgroup_size(64)
fn scale(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.count) { return; }
  scalars[params.at + i] = fr_to_plain(fr_mul(fr_unpack(factor[0]), fr_from_plain(values[params.first + i])));
}
