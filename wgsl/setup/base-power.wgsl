// Constants of a geometric sequence: what its kernel says of the first ones, then base^(2^k) for k = 0, 1, … in
// Montgomery form.
@group(0) @binding(0) var<storage, read> constants: array<FRPacked>;

// base^n, of whose exponent the low `bits` bits count; as many multiplications as are set.
fn base_power(n: u32, first_square: u32, bits: u32) -> FR {
  var power = FR_ONE;
  for (var k = 0u; k < bits; k++) {
    if (((n >> k) & 1u) == 1u) { power = fr_mul(power, fr_unpack(constants[first_square + k])); }
  }
  return power;
}
