// Groups of `size` points each, one behind the other: pairs (0, 1), (2, 3), … of each group, the last one of an odd
// group alone.
struct AdjacentParams { pairs: u32, size: u32 }

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: AdjacentParams;

const NONE = 0x7fffffffu;

@compute @workgroup_size(64)
fn adjacent_pairs(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.pairs) { return; }
  let half = (params.size + 1u) / 2u;
  let k = 2u * (i % half);
  let left = i / half * params.size + k;
  pairs[i] = vec2(left, select(NONE, left + 1u, k + 1u < params.size));
}
