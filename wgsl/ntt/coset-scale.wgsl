// Coefficients in bit-reversed order times powers: element at i by the power of i's reversed bits.
struct ScaleParams { log_size: u32 }

@group(0) @binding(0) var<storage, read_write> elements: array<FRPacked>;
@group(0) @binding(1) var<storage, read> powers: array<FRPacked>;
@group(0) @binding(2) var<uniform> params: ScaleParams;

@compute @workgroup_size(64)
fn coset_scale(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= 1u << params.log_size) { return; }
  let exponent = reverseBits(i) >> (32u - params.log_size);
  elements[i] = fr_pack(fr_tidy(fr_mul(fr_unpack(elements[i]), fr_unpack(powers[exponent]))));
}
