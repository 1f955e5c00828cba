// Scalars of a query: z at a list of places.
struct GatherParams { count: u32, first: u32 }

@group(0) @binding(0) var<storage, read> z: array<FRPacked>;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read_write> scalars: array<FRPacked>;
@group(0) @binding(3) var<uniform> params: GatherParams;

@compute @workgroup_size(64)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i < params.count) { scalars[i] = z[places[params.first + i]]; }
}
