// Inverses by Fermat's little theorem: a^(p − 2), the exponent in windows of 4 bits, squarings and multiplications over one body.
// For the few totals that batch inversion leaves; 0 gives 0.
struct InvertParams { count: u32, windows: u32 }

@group(0) @binding(0) var<storage, read_write> element: array<FQPacked>;
@group(0) @binding(1) var<storage, read> exponent: array<u32>;
@group(0) @binding(2) var<uniform> params: InvertParams;

override workgroup_size: u32 = 32;

@compute @workgroup_size(workgroup_size)
fn invert(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  if (i >= params.count) { return; }
  // power[k] = a^k
  var power: array<FQPacked, 16>;
  let a = fq_unpack(element[i]);
  power[0] = fq_pack(FQ_ONE);
  var value = FQ_ONE;
  // Steps 0 … 14 fill the table; then five steps a window: four squarings and one product.
  let steps = 15u + 5u * params.windows;
  for (var step = 0u; step < steps; step++) {
    let filling = step < 15u;
    let phase = (step - 15u) % 5u;
    var factor = value;
    if (filling) {
      factor = a;
    } else if (phase == 4u) {
      let window = params.windows - 1u - (step - 15u) / 5u;
      factor = fq_unpack(power[(exponent[window >> 3u] >> (4u * (window & 7u))) & 15u]);
    }
    value = fq_mul(value, factor);
    if (filling) { power[step + 1u] = fq_pack(fq_tidy(value)); }
    if (step == 14u) { value = FQ_ONE; }
  }
  element[i] = fq_pack(fq_tidy(value));
}
