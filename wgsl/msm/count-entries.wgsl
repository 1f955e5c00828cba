// Counts the entries of each bucket; an entry's rank among them is kept, so that placing needs no second atomic.
@group(0) @binding(0) var<storage, read> scalars: array<Scalar>;
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> ranks: array<u32>;
@group(0) @binding(3) var<uniform> params: MsmParams;

fn entry(bucket: u32, slot: u32, operand: u32) { ranks[slot] = atomicAdd(&counts[bucket], 1u); }

@compute @workgroup_size(64)
fn count_entries(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = params.begin + workgroup_number(group, groups) * 64u + local;
  if (i < params.end) { walk_digits(i); }
}
