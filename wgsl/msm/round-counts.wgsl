// Entries that a bucket has after one more round of adding pairs: half, rounded up; none once a single one was left, since that is
// its sum. `round_total[k]` gets the pairs of round k over all buckets, `round_total[rounds]` the entries to begin with: the host sizes
// every round by them (and passes 0 rounds later, when nothing is to be counted).
struct RoundParams { buckets: u32, rounds: u32 }

@group(0) @binding(0) var<storage, read> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> next_counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> round_total: array<atomic<u32>>;
@group(0) @binding(3) var<uniform> params: RoundParams;

fn after_round(count: u32) -> u32 { return select(0u, (count + 1u) / 2u, count > 1u); }

@compute @workgroup_size(256)
fn round_counts(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let bucket = workgroup_number(group, groups) * 256u + local;
  if (bucket >= params.buckets) { return; }
  var count = after_round(counts[bucket]);
  next_counts[bucket] = count;
  if (params.rounds == 0u || counts[bucket] == 0u) { return; }
  atomicAdd(&round_total[params.rounds], counts[bucket]);
  for (var round = 0u; round < params.rounds && count > 0u; round++) {
    atomicAdd(&round_total[round], count);
    count = after_round(count);
  }
}
