// First round of fixed-base multiples: a scalar's digits d_k, k < windows, of `bits` bits each and signed, give the
// table's points ±|d_k| · 2^(bits·k) · base, which stand at (|d_k| − 1) · windows + k; a digit 0 takes the infinity
// behind the table. Two neighbours make a pair; the last digit of an odd number has no partner. One thread a scalar,
// since digits carry: those above 2^(bits − 1) become negative.
struct TableParams { scalars: u32, first: u32, bits: u32, windows: u32 }

@group(0) @binding(0) var<storage, read> scalars: array<array<u32, 8>>;
@group(0) @binding(1) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> params: TableParams;

const NONE = 0x7fffffffu;
const NEGATE = 0x80000000u;

@compute @workgroup_size(64)
fn table_pairs(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.scalars) { return; }
  let half = 1u << (params.bits - 1u);
  let infinity = half * params.windows;
  let out = i * ((params.windows + 1u) / 2u);
  var carry = 0u;
  var left = NONE;
  for (var k = 0u; k < params.windows; k++) {
    let bit = k * params.bits;
    let word = bit >> 5u;
    let shift = bit & 31u;
    var raw = scalars[params.first + i][word] >> shift;
    if (shift + params.bits > 32u && word < 7u) { raw |= scalars[params.first + i][word + 1u] << (32u - shift); }
    raw = (raw & (2u * half - 1u)) + carry;
    let negative = raw > half;
    carry = select(0u, 1u, negative);
    let digit = select(raw, 2u * half - raw, negative);
    var operand = infinity;
    if (digit != 0u) { operand = ((digit - 1u) * params.windows + k) | select(0u, NEGATE, negative); }
    if ((k & 1u) == 1u) { pairs[out + k / 2u] = vec2(left, operand); } else { left = operand; }
  }
  if ((params.windows & 1u) == 1u) { pairs[out + params.windows / 2u] = vec2(left, NONE); }
}
