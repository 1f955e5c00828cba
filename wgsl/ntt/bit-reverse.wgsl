// Elements from bit-reversed to natural order, into other shards. The index is cut into `tile_bits` upper bits p, a
// middle part m and as many lower bits q: element (p, m, q) goes to (q', m', p'), all reversed. A workgroup takes the
// elements of one m, a square of which every row is a contiguous piece of memory on both sides; alone, an element of 32
// bytes would be its own access on one of them.
struct ReverseParams {
  log_size: u32,
  tile_bits: u32,
  // The first workgroup's number.
  first: u32,
}

var<workgroup> tile: array<FRPacked, 256>;

fn reversed(value: u32, bits: u32) -> u32 {
  if (bits == 0u) { return 0u; }
  return reverseBits(value) >> (32u - bits);
}

@compute @workgroup_size(64)
fn bit_reverse(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let bits = params.tile_bits;
  let middle_bits = params.log_size - 2u * bits;
  let middle = params.first + workgroup_number(group, groups);
  let live = middle < (1u << middle_bits);
  let side = 1u << bits;
  for (var k = local; k < side * side; k += 64u) {
    if (live) { tile[k] = source_load(((k >> bits) << (params.log_size - bits)) | (middle << bits) | (k & (side - 1u))); }
  }
  workgroupBarrier();
  let to = reversed(middle, middle_bits) << bits;
  for (var k = local; k < side * side; k += 64u) {
    let origin = (reversed(k & (side - 1u), bits) << bits) | reversed(k >> bits, bits);
    if (live) { target_store(((k >> bits) << (params.log_size - bits)) | to | (k & (side - 1u)), tile[origin]); }
  }
}
