// The bucket of each entry, from where the buckets begin: the last one that begins at the entry or before. Written in
// order, which is cheaper than scattering it together with the entry. A workgroup takes 2,048 entries: it looks for the
// buckets of the first and the last one among all, then for the others between these.
struct EntryParams {
  // Number of the first bucket, and of how many.
  first: u32,
  buckets: u32,
  entries: u32,
}

@group(0) @binding(0) var<storage, read> ranges: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> entry_bucket: array<u32>;
@group(0) @binding(2) var<uniform> params: EntryParams;

const PER_GROUP = 2048u;

var<workgroup> bounds: array<u32, 2>;

// Among the buckets from `low` up to `high`, of which the first begins at the entry or before.
fn bucket_of(entry: u32, low: u32, high: u32) -> u32 {
  var here = low;
  var past = high;
  while (past - here > 1u) {
    let middle = (here + past) / 2u;
    if (ranges[params.first + middle].z <= entry) { here = middle; } else { past = middle; }
  }
  return here;
}

@compute @workgroup_size(256)
fn entry_buckets(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let begin = workgroup_number(group, groups) * PER_GROUP;
  let end = min(begin + PER_GROUP, params.entries);
  if (local < 2u && begin < end) { bounds[local] = bucket_of(select(begin, end - 1u, local == 1u), 0u, params.buckets); }
  workgroupBarrier();
  for (var i = begin + local; i < end; i += 256u) {
    entry_bucket[i] = params.first + bucket_of(i, bounds[0], bounds[1] + 1u);
  }
}
