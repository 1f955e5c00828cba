// Scalars of a query: the values of z whose bit is set, as far as their ranks lie in a range. A workgroup takes a block
// of 1024 bits: its first lanes list the places of the set ones, then all of them copy.
struct GatherParams {
  // The first workgroup's block.
  first_block: u32,
  blocks: u32,
  // Ranks `first` up to `first + count`; the first of them goes to `scalars[to]`.
  first: u32,
  count: u32,
  to: u32,
  // Place in z of bit 0.
  origin: u32,
}

@group(0) @binding(0) var<storage, read> bits: array<u32>;
// Bits set before each block.
@group(0) @binding(1) var<storage, read> ranks: array<u32>;
@group(0) @binding(2) var<storage, read_write> scalars: array<FRPacked>;

const WORDS = 32u;
var<workgroup> places: array<u32, 1024>;
var<workgroup> counts: array<u32, 32>;

@compute @workgroup_size(64)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let number = workgroup_number(group, groups);
  let live = number < params.blocks;
  let block = params.first_block + min(number, params.blocks - 1u);
  var word = 0u;
  if (local < WORDS) {
    word = bits[block * WORDS + local];
    counts[local] = countOneBits(word);
  }
  workgroupBarrier();
  var total = 0u;
  for (var k = 0u; k < WORDS; k++) {
    if (k == local) {
      var next = total;
      for (var rest = word; rest != 0u; rest &= rest - 1u) {
        places[next] = block * 1024u + local * 32u + countTrailingZeros(rest);
        next++;
      }
    }
    total += counts[k];
  }
  workgroupBarrier();
  for (var k = local; k < total; k += 64u) {
    // Below the first rank this wraps to a number past the count.
    let at = ranks[block] + k - params.first;
    if (live && at < params.count) { scalars[params.to + at] = z_load(params.origin + places[k]); }
  }
}
