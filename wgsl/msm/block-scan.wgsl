// Exclusive prefix sums over the 256 threads of a workgroup: a thread gives its total and gets the sum of those before
// it. All threads call it.
var<workgroup> partial: array<u32, 256>;

fn before_in_block(local: u32, total: u32) -> u32 {
  partial[local] = total;
  workgroupBarrier();
  for (var step = 1u; step < 256u; step <<= 1u) {
    var before = 0u;
    if (local >= step) { before = partial[local - step]; }
    workgroupBarrier();
    partial[local] += before;
    workgroupBarrier();
  }
  return partial[local] - total;
}
