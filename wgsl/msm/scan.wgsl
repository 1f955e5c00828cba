// Exclusive prefix sums, a block of 1,024 values a workgroup (four a thread); block sums go to `block_total` and are
// scanned the same way, then added by `add_blocks`.
struct ScanParams { count: u32 }

@group(0) @binding(0) var<storage, read> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
@group(0) @binding(2) var<storage, read_write> block_total: array<u32>;
@group(0) @binding(3) var<uniform> params: ScanParams;

@compute @workgroup_size(256)
fn scan_blocks(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let block = workgroup_number(group, groups);
  let base = block * 1024u + local * 4u;
  var own = array<u32, 4>();
  var total = 0u;
  for (var k = 0u; k < 4u; k++) {
    own[k] = total;
    if (base + k < params.count) { total += values[base + k]; }
  }
  let offset = before_in_block(local, total);
  for (var k = 0u; k < 4u; k++) {
    if (base + k < params.count) { sums[base + k] = offset + own[k]; }
  }
  if (local == 255u && block * 1024u < params.count) { block_total[block] = offset + total; }
}
