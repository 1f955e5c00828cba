// Zeros: empty counters; as a point, infinity.
@group(0) @binding(0) var<storage, read_write> words: array<vec4<u32>>;
@group(0) @binding(1) var<uniform> params: vec4<u32>;

@compute @workgroup_size(256)
fn clear(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 256u + local;
  if (i < params.x) { words[i] = vec4<u32>(); }
}
