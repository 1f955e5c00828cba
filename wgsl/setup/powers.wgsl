// scalars[i] = factor · base^i, plain. A thread takes t, t + threads, …: one multiplication each, after the first.
struct PowersParams { count: u32, threads: u32, bits: u32 }

// base^threads in Montgomery form, and the factor as it is.
const STEP = 0u;
const FACTOR = 1u;
const SQUARES = 2u;

@group(0) @binding(1) var<storage, read_write> scalars: array<FRPacked>;
@group(0) @binding(2) var<uniform> params: PowersParams;

@compute @workgroup_size(64)
fn powers(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let t = workgroup_number(group, groups) * 64u + local;
  if (t >= params.threads) { return; }
  let step = fr_unpack(constants[STEP]);
  var power = fr_mul(base_power(t, SQUARES, params.bits), fr_unpack(constants[FACTOR]));
  for (var i = t; i < params.count; i += params.threads) {
    scalars[i] = fr_to_plain(power);
    power = fr_mul(power, step);
  }
}
