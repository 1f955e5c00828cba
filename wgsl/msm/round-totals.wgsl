// `round_total[out + k]` gets the pairs of round k over the buckets from `first` on, `round_total[out + rounds]` their
// entries to begin with: the host sizes every round by them. A workgroup takes 16 buckets a thread, and adds up in its
// own memory first: millions of additions to the same few words of a buffer would wait for each other.
struct TotalsParams { first: u32, buckets: u32, rounds: u32, out: u32 }

@group(0) @binding(0) var<storage, read> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> round_total: array<atomic<u32>>;
@group(0) @binding(2) var<uniform> params: TotalsParams;

var<workgroup> sums: array<atomic<u32>, 32>;

@compute @workgroup_size(256)
fn round_totals(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  if (local < 32u) { atomicStore(&sums[local], 0u); }
  workgroupBarrier();
  let base = workgroup_number(group, groups) * 4096u + local;
  var own = array<u32, 16>();
  var live = 0u;
  for (var k = 0u; k < 16u; k++) {
    let bucket = base + 256u * k;
    var count = 0u;
    if (bucket < params.buckets) { count = counts[params.first + bucket]; }
    own[k] = count;
    live += count;
  }
  if (live > 0u) { atomicAdd(&sums[params.rounds], live); }
  for (var round = 0u; round < params.rounds && live > 0u; round++) {
    live = 0u;
    for (var k = 0u; k < 16u; k++) {
      own[k] = after_round(own[k]);
      live += own[k];
    }
    if (live > 0u) { atomicAdd(&sums[round], live); }
  }
  workgroupBarrier();
  if (local <= params.rounds) {
    let sum = atomicLoad(&sums[local]);
    if (sum > 0u) { atomicAdd(&round_total[params.out + local], sum); }
  }
}
