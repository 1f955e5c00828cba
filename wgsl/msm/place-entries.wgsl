// Writes each entry to its place in its bucket.
@group(0) @binding(0) var<storage, read> scalars: array<Scalar>;
@group(0) @binding(1) var<storage, read> ranges: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> ranks: array<u32>;
@group(0) @binding(3) var<storage, read_write> entries: array<u32>;
@group(0) @binding(4) var<uniform> params: MsmParams;

fn entry(bucket: u32, slot: u32, operand: u32) {
  // Where the bucket's entries of the first round begin: see bucket-ranges.wgsl.
  entries[ranges[bucket].z + ranks[slot]] = operand;
}

@compute @workgroup_size(64)
fn place_entries(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = params.begin + workgroup_number(group, groups) * 64u + local;
  if (i < params.end) { walk_digits(i); }
}
