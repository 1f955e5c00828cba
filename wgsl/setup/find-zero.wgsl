// The lowest number of a scalar that is 0; `first_zero` starts at the count.
struct FindParams { count: u32 }

@group(0) @binding(0) var<storage, read> scalars: array<FRPacked>;
@group(0) @binding(1) var<storage, read_write> first_zero: atomic<u32>;
@group(0) @binding(2) var<uniform> params: FindParams;

@compute @workgroup_size(64)
fn find_zero(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.count) { return; }
  let scalar = scalars[i];
  if (all((scalar.v0 | scalar.v1) == vec4<u32>())) { atomicMin(&first_zero, i); }
}
