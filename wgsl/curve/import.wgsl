// Points from bellperson's uncompressed form, big-endian x || y (G2: c1 before c0), to packed Montgomery form. Refused: a coordinate
// not below p (flags stand in its top bits, so infinity and compressed points go with it) and a point off the curve.
// `first_bad` gets the lowest number of a refused point, counted from `first` on; it starts above all of them.
struct ImportParams { points: u32, three: u32, first: u32 }
struct Point { x: CPacked, y: CPacked }

@group(0) @binding(0) var<storage, read> encoded: array<FQPacked>;
@group(0) @binding(1) var<storage, read_write> points: array<Point>;
@group(0) @binding(2) var<storage, read_write> first_bad: atomic<u32>;
@group(0) @binding(3) var<uniform> params: ImportParams;

fn swapped(v: vec4<u32>) -> vec4<u32> {
  let reversed = v.wzyx;
  return ((reversed & vec4(0xffu)) << vec4(24u)) | ((reversed & vec4(0xff00u)) << vec4(8u))
    | ((reversed >> vec4(8u)) & vec4(0xff00u)) | (reversed >> vec4(24u));
}

// The integer of 48 big-endian bytes.
fn integer(w: FQPacked) -> FQPacked { return FQPacked(swapped(w.v2), swapped(w.v1), swapped(w.v0)); }

const P_0 = vec4<u32>(0xffffaaabu, 0xb9feffffu, 0xb153ffffu, 0x1eabfffeu);
const P_1 = vec4<u32>(0xf6b0f624u, 0x6730d2a0u, 0xf38512bfu, 0x64774b84u);
const P_2 = vec4<u32>(0x434bacd7u, 0x4b1ba7b6u, 0x397fe69au, 0x1a0111eau);

// Whether a is below b, by the highest component that differs; `lower` if none does.
fn below(a: vec4<u32>, b: vec4<u32>, lower: bool) -> bool {
  var result = a.x < b.x || (a.x == b.x && lower);
  result = a.y < b.y || (a.y == b.y && result);
  result = a.z < b.z || (a.z == b.z && result);
  return a.w < b.w || (a.w == b.w && result);
}
fn below_p(w: FQPacked) -> bool { return below(w.v2, P_2, below(w.v1, P_1, below(w.v0, P_0, false))); }

@compute @workgroup_size(64)
fn import_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.points) { return; }
  var canonical = true;
  var x = C_ZERO;
  var y = C_ZERO;
  // Steps over one body: 2 bring x and y into Montgomery form, then x², x³ and y².
  var power = C_ZERO;
  for (var step = 0u; step < params.three + 2u; step++) {
    var left = C_R2;
    var right = power;
    if (step < 2u) { right = read_coordinate(2u * i + step, &canonical); }
    if (step == 2u) { left = x; right = x; }
    if (step == 3u) { left = x; }
    if (step == 4u) { left = y; right = y; }
    let product = c_mul(left, right);
    if (step == 0u) { x = product; }
    if (step == 1u) { y = product; }
    if (step == 2u || step == 3u) { power = product; }
    if (step == 4u) { power = c_sub(product, power); }
  }
  if (!canonical || !c_is_zero(c_sub(power, c_curve_constant()))) { atomicMin(&first_bad, params.first + i); }
  points[i] = Point(c_pack(c_tidy(x)), c_pack(c_tidy(y)));
}
