// scalars[first + i] = values at place i of a list, where the place is in the window that `values` is of a longer vector.
struct PickParams { first: u32, count: u32, window_first: u32, window_count: u32 }

@group(0) @binding(0) var<storage, read> values: array<FRPacked>;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read_write> scalars: array<FRPacked>;
@group(0) @binding(3) var<uniform> params: PickParams;

@compute @workgroup_size(64)
fn pick(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.count) { return; }
  let place = places[params.first + i] - params.window_first;
  if (place < params.window_count) { scalars[params.first + i] = values[place]; }
}
