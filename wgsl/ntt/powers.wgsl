// powers[i] = scale · base^i, from the squares base^(2^k): as many multiplications as i has bits set.
struct PowersParams { count: u32, bits: u32 }

// scale, then base^(2^k) for k = 0, 1, …; Montgomery form.
@group(0) @binding(0) var<storage, read> squares: array<FRPacked>;
@group(0) @binding(1) var<storage, read_write> powers: array<FRPacked>;
@group(0) @binding(2) var<uniform> params: PowersParams;

@compute @workgroup_size(64)
fn make_powers(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.count) { return; }
  var value = fr_unpack(squares[0]);
  for (var k = 0u; k < params.bits; k++) {
    if (((i >> k) & 1u) == 1u) { value = fr_mul(value, fr_unpack(squares[k + 1u])); }
  }
  powers[i] = fr_pack(fr_tidy(value));
}
