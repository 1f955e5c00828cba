// Packed points to bellperson's uncompressed big-endian form; infinity has the flag 0x40 in its first byte and zeros
// behind it. A point is `coordinates` elements of Fq; G2 puts c1 before c0.
struct ExportParams { points: u32, coordinates: u32 }

@group(0) @binding(0) var<storage, read> points: array<FQPacked>;
@group(0) @binding(1) var<storage, read_write> encoded: array<FQPacked>;
@group(0) @binding(2) var<uniform> params: ExportParams;

fn swapped(v: vec4<u32>) -> vec4<u32> {
  let reversed = v.wzyx;
  return ((reversed & vec4(0xffu)) << vec4(24u)) | ((reversed & vec4(0xff00u)) << vec4(8u))
    | ((reversed >> vec4(8u)) & vec4(0xff00u)) | (reversed >> vec4(24u));
}

@compute @workgroup_size(64)
fn export_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.points * params.coordinates) { return; }
  let point = i / params.coordinates;
  let k = i % params.coordinates;
  var infinite = true;
  for (var c = 0u; c < params.coordinates / 2u; c++) {
    let word = points[point * params.coordinates + c];
    infinite = infinite && all((word.v0 | word.v1 | word.v2) == vec4<u32>());
  }
  var result = FQPacked(vec4(select(0u, 0x40u, k == 0u), 0u, 0u, 0u), vec4<u32>(), vec4<u32>());
  if (!infinite) {
    // In G2 the two halves of a coordinate change places.
    let source = point * params.coordinates + select(k, k ^ 1u, params.coordinates == 4u);
    let plain = fq_to_plain(fq_mul(fq_unpack(points[source]), FQ_PLAIN_ONE));
    result = FQPacked(swapped(plain.v2), swapped(plain.v1), swapped(plain.v0));
  }
  encoded[i] = result;
}
