// Gathers what a round needs to know of a bucket in one place: start, count, start of its pairs.
@group(0) @binding(0) var<storage, read> starts: array<u32>;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> next_starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> ranges: array<vec4<u32>>;
@group(0) @binding(4) var<uniform> params: vec4<u32>;

@compute @workgroup_size(256)
fn round_ranges(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let bucket = workgroup_number(group, groups) * 256u + local;
  if (bucket < params.x) { ranges[bucket] = vec4(starts[bucket], counts[bucket], next_starts[bucket], 0u); }
}
