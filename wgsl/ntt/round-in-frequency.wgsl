// Sums, then factors.
const INVERSE = true;

@compute @workgroup_size(64)
fn ntt_round(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let thread = workgroup_number(group, groups) * 64u + local;
  if (thread >= params.threads) { return; }
  let quad = quad_of(params.first + thread);
  let distance = 1u << quad.log_distance;
  let at = quad.at;
  var x = transformed(Four(load(at), load(at + distance), load(at + 2u * distance), load(at + 3u * distance)), quad, false);
  for (var k = 0u; k < params.four; k++) {
    var value = x.a;
    if (k < quad.first_factor) {
      value = fr_tidy(value);
    } else {
      value = fr_light(value);
      for (var n = 0u; n < quad.factors; n++) { value = fr_mul(value, factor(quad, k, n)); }
    }
    store(at + k * distance, value);
    x = Four(x.b, x.c, x.d, x.a);
  }
}
