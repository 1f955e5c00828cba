// Coordinates from bellperson's uncompressed form, 48 bytes big-endian, to packed Montgomery form. Refused: one not
// below p; flags stand in the top bits of x, so infinity and compressed points go with it. Of an element of Fq2 c1
// comes before c0 there. `first_bad` gets the lowest number of a refused point, counted from `first` on; it starts
// above all of them.
struct ImportParams { coordinates: u32, per_point: u32, first: u32 }

@group(0) @binding(0) var<storage, read> encoded: array<FQPacked>;
@group(0) @binding(1) var<storage, read_write> coordinates: array<FQPacked>;
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
fn import_coordinates(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.coordinates) { return; }
  let w = integer(encoded[select(i, i ^ 1u, params.per_point == 4u)]);
  if (!below_p(w)) { atomicMin(&first_bad, params.first + i / params.per_point); }
  coordinates[i] = fq_pack(fq_to_montgomery(w));
}
