// L_j(τ) = Z/m · ω^j / (τ − ω^j) of consecutive rows j, with one inversion for all the rows that a thread takes: t, t +
// threads, …. `lagrange_products` leaves the products of the differences before each row, and in `totals` those of all;
// once these are inverted, `lagrange_values` walks backwards: 1/d_i = (1 / (d_0 … d_i)) · (d_0 … d_(i−1)).
struct LagrangeParams { first: u32, count: u32, threads: u32, bits: u32, two: u32 }

// Montgomery form, but for the last: τ, ω^threads, ω^−threads, and Z/m as it is.
const TAU = 0u;
const STEP = 1u;
const BACK = 2u;
const SQUARES = 4u;

@group(0) @binding(1) var<storage, read_write> values: array<FRPacked>;
@group(0) @binding(2) var<storage, read_write> totals: array<FRPacked>;
@group(0) @binding(3) var<uniform> params: LagrangeParams;

@compute @workgroup_size(64)
fn lagrange_products(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let t = workgroup_number(group, groups) * 64u + local;
  if (t >= params.threads) { return; }
  let tau = fr_unpack(constants[TAU]);
  let step = fr_unpack(constants[STEP]);
  var power = base_power(params.first + t, SQUARES, params.bits);
  var product = FR_ONE;
  for (var i = t; i < params.count; i += params.threads) {
    values[i] = fr_pack(fr_tidy(product));
    product = fr_mul(product, fr_sub(tau, power));
    power = fr_mul(power, step);
  }
  totals[t] = fr_pack(fr_tidy(product));
}

@compute @workgroup_size(64)
fn lagrange_values(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let t = workgroup_number(group, groups) * 64u + local;
  if (t >= params.threads || t >= params.count) { return; }
  let tau = fr_unpack(constants[TAU]);
  let back = fr_unpack(constants[BACK]);
  let last = (params.count - 1u - t) / params.threads;
  var power = base_power(params.first + t + last * params.threads, SQUARES, params.bits);
  // Times Z/m, and a plain integer: so is every product of it with Montgomery forms.
  var suffix = fr_unpack(totals[t]);
  for (var k = last + 1u; k > 0u; k--) {
    let i = t + (k - 1u) * params.threads;
    let difference = fr_sub(tau, power);
    var value = suffix;
    let prefix = fr_unpack(values[i]);
    // Two steps over two bodies: the inverse and the suffix without this row, then the value and the power before.
    for (var step = 0u; step < params.two; step++) {
      value = fr_mul(value, fr_select(prefix, power, step == 1u));
      let product = fr_mul(fr_select(suffix, power, step == 1u), fr_select(difference, back, step == 1u));
      if (step == 0u) { suffix = product; } else { power = product; }
    }
    values[i] = fr_to_plain(value);
  }
}
