// One thread an entry. The entries of a bucket are pairs (0, 1), (2, 3), …; a last odd one is a pair without a right
// point. A bucket with one entry is done: the point becomes its sum. In the first round an entry names a point (and a
// sign) in `entries`; later it is the point of its own number.
struct PairsParams { entries: u32, named: u32 }
struct Point { x: CPacked, y: CPacked }

@group(0) @binding(0) var<storage, read> points: array<Point>;
@group(0) @binding(1) var<storage, read> entries: array<u32>;
@group(0) @binding(2) var<storage, read> entry_bucket: array<u32>;
@group(0) @binding(3) var<storage, read> ranges: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> next_bucket: array<u32>;
@group(0) @binding(6) var<storage, read_write> bucket_sums: array<Point>;
@group(0) @binding(7) var<uniform> params: PairsParams;

const NONE = 0x7fffffffu;
const NUMBER = 0x7fffffffu;
const NEGATE = 0x80000000u;

fn operand(i: u32) -> u32 {
  if (params.named == 1u) { return entries[i]; }
  return i;
}

@compute @workgroup_size(64)
fn round_pairs(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.entries) { return; }
  let bucket = entry_bucket[i];
  // Start and count of the bucket's entries, start of its pairs.
  let range = ranges[bucket];
  let place = i - range.x;
  if (range.y == 1u) {
    let only = operand(i);
    let point = points[only & NUMBER];
    var y = point.y;
    if ((only & NEGATE) != 0u && !c_is_infinity(point.x)) { y = c_pack(c_tidy(c_scale(c_unpack(y), -1))); }
    bucket_sums[bucket] = Point(point.x, y);
    return;
  }
  if ((place & 1u) == 1u) { return; }
  let at = range.z + place / 2u;
  var right = NONE;
  if (place + 1u < range.y) { right = operand(i + 1u); }
  pairs[at] = vec2(operand(i), right);
  next_bucket[at] = bucket;
}
