// Factors, then sums.
const INVERSE = false;

@compute @workgroup_size(64)
fn ntt_round(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let thread = workgroup_number(group, groups) * 64u + local;
  if (thread >= params.threads) { return; }
  let quad = quad_of(params.first + thread);
  let distance = 1u << quad.log_distance;
  let at = quad.at;
  var x = Four(FR(), FR(), FR(), FR());
  for (var k = 0u; k < params.four; k++) {
    var value = load(at + k * distance);
    if (k >= quad.first_factor) {
      for (var n = 0u; n < quad.factors; n++) { value = fr_mul(value, factor(quad, k, n)); }
    }
    x = Four(x.b, x.c, x.d, value);
  }
  let y = transformed(x, quad, true);
  store(at, fr_tidy(y.a));
  store(at + distance, fr_tidy(y.b));
  store(at + 2u * distance, fr_tidy(y.c));
  store(at + 3u * distance, fr_tidy(y.d));
}
