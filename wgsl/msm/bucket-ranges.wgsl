// What a round needs to know of each bucket, in one place: start and number of its entries, start and number of its
// pairs, which are the next round's entries. The numbers follow from those before, the starts are their prefix sums:
// first sums within blocks of 1,024 (`bucket_scan`, four buckets a thread), which are scanned by scan.wgsl, then the
// rest (`bucket_ranges`). With `initial` only the next round's half is filled, from the counts of a sort.
struct BucketParams {
  // Buckets of the round, and the number of the first one.
  buckets: u32,
  first: u32,
  initial: u32,
  // Where the first pair goes.
  base: u32,
}

@group(0) @binding(0) var<storage, read> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> ranges: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@group(0) @binding(3) var<storage, read_write> blocks: array<u32>;
@group(0) @binding(4) var<uniform> params: BucketParams;

fn pairs_of(bucket: u32) -> u32 {
  if (bucket >= params.buckets) { return 0u; }
  if (params.initial == 1u) { return counts[params.first + bucket]; }
  return after_round(ranges[params.first + bucket].w);
}

@compute @workgroup_size(256)
fn bucket_scan(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let block = workgroup_number(group, groups);
  let base = block * 1024u + local * 4u;
  var own = array<u32, 4>();
  var total = 0u;
  for (var k = 0u; k < 4u; k++) {
    own[k] = total;
    total += pairs_of(base + k);
  }
  let offset = before_in_block(local, total);
  for (var k = 0u; k < 4u; k++) {
    if (base + k < params.buckets) { sums[base + k] = offset + own[k]; }
  }
  if (local == 255u && block * 1024u < params.buckets) { blocks[block] = offset + total; }
}

@compute @workgroup_size(256)
fn bucket_ranges(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let bucket = workgroup_number(group, groups) * 256u + local;
  if (bucket >= params.buckets) { return; }
  let before = ranges[params.first + bucket];
  let next = vec2(params.base + sums[bucket] + blocks[bucket / 1024u], pairs_of(bucket));
  ranges[params.first + bucket] = vec4(before.zw, next);
}
