// h_i = d_i · factor_i − c_i · constant, from coefficients in bit-reversed order to natural order and plain integers.
// `factors` are powers of 1/g times all constants of the first term.
struct QuotientParams { log_size: u32 }

@group(0) @binding(0) var<storage, read> on_coset: array<FRPacked>;
@group(0) @binding(1) var<storage, read> on_domain: array<FRPacked>;
@group(0) @binding(2) var<storage, read> factors: array<FRPacked>;
@group(0) @binding(3) var<storage, read> constant: array<FRPacked>;
@group(0) @binding(4) var<storage, read_write> quotient: array<FRPacked>;
@group(0) @binding(5) var<uniform> params: QuotientParams;

@compute @workgroup_size(64)
fn quotient_coefficients(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= 1u << params.log_size) { return; }
  let at = reverseBits(i) >> (32u - params.log_size);
  let h = fr_sub(fr_mul(fr_unpack(on_coset[at]), fr_unpack(factors[i])), fr_mul(fr_unpack(on_domain[at]), fr_unpack(constant[0])));
  quotient[i] = fr_to_plain(h);
}
