// Numbers of the scalars that are 1 go to `ones`, of those that are neither 0 nor 1 to `wides`, in any order; `totals`
// counts both. A workgroup takes 1,024 scalars: it counts its own first and reserves room for them by one addition to
// each total.
struct SplitParams {
  // Number of the first scalar in the buffer.
  first: u32,
  // Scalars to look at in this dispatch: from the first number up to the second.
  begin: u32,
  end: u32,
}
struct Scalar { low: vec4<u32>, high: vec4<u32> }

@group(0) @binding(0) var<storage, read> scalars: array<Scalar>;
@group(0) @binding(1) var<storage, read_write> ones: array<u32>;
@group(0) @binding(2) var<storage, read_write> wides: array<u32>;
@group(0) @binding(3) var<storage, read_write> totals: array<atomic<u32>, 2>;
@group(0) @binding(4) var<uniform> params: SplitParams;

const ONE = 0u;
const WIDE = 1u;
const ZERO = 2u;

var<workgroup> own: array<atomic<u32>, 2>;
var<workgroup> start: array<u32, 2>;

fn kind_of(i: u32) -> u32 {
  if (i >= params.end) { return ZERO; }
  let scalar = scalars[params.first + i];
  if (any((vec4(0u, scalar.low.yzw) | scalar.high) != vec4<u32>()) || scalar.low.x > 1u) { return WIDE; }
  return select(ZERO, ONE, scalar.low.x == 1u);
}

@compute @workgroup_size(256)
fn split_scalars(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  if (local < 2u) { atomicStore(&own[local], 0u); }
  workgroupBarrier();
  let base = params.begin + workgroup_number(group, groups) * 1024u + local;
  var kinds = array<u32, 4>();
  var places = array<u32, 4>();
  for (var k = 0u; k < 4u; k++) {
    let kind = kind_of(base + 256u * k);
    kinds[k] = kind;
    if (kind != ZERO) { places[k] = atomicAdd(&own[kind], 1u); }
  }
  workgroupBarrier();
  if (local < 2u) { start[local] = atomicAdd(&totals[local], atomicLoad(&own[local])); }
  workgroupBarrier();
  for (var k = 0u; k < 4u; k++) {
    if (kinds[k] == ONE) { ones[start[ONE] + places[k]] = base + 256u * k; }
    if (kinds[k] == WIDE) { wides[start[WIDE] + places[k]] = base + 256u * k; }
  }
}
