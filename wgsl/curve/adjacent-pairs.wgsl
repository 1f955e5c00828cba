// Pairs (0, 1), (2, 3), …
@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: vec4<u32>;

@compute @workgroup_size(64)
fn adjacent_pairs(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i < params.x) { pairs[i] = vec2(2u * i, 2u * i + 1u); }
}
