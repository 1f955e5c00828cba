// Factors, then sums.
@compute @workgroup_size(64)
fn ntt_round(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let thread = workgroup_number(group, groups) * 64u + local;
  if (thread >= params.threads) { return; }
  let quad = quad_of(params.first + thread);
  let distance = 1u << quad.log_distance;
  let at = quad.at;
  var x = Four(FR(), FR(), FR(), FR());
  for (var k = 0u; k < params.four; k++) {
    let i = at + k * distance;
    var value = FR();
    if (is_element(i)) { value = load(i); }
    for (var n = 0u; n < params.between; n++) { value = fr_mul(value, fr_unpack(factor(quad, i, n))); }
    x = Four(x.b, x.c, x.d, value);
  }
  x = transformed(x, quad.single);
  for (var k = 0u; k < params.four; k++) {
    let i = at + k * distance;
    if (is_element(i)) { store(i, fr_tidy(x.a)); }
    x = Four(x.b, x.c, x.d, x.a);
  }
}
