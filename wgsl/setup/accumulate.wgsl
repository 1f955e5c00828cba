// Σ coefficient · source over the terms of an output, added to its target; one thread an output of an instance. An
// instance says where its rows, aux variables, inputs and partial sums begin. Source and target are windows of longer
// vectors: what is outside is left to another dispatch. No two outputs of a dispatch have one target. Coefficients are
// in Montgomery form, so that all sums are plain; number 0 is 1 and number 1 is −1.
struct AccumulateParams {
  first_instance: u32,
  instances: u32,
  first_output: u32,
  outputs: u32,
  // Which word of an instance the offsets of terms, and of outputs, count from; 4 for none.
  source_base: u32,
  target_base: u32,
  source_first: u32,
  source_count: u32,
  target_first: u32,
  target_count: u32,
}

@group(0) @binding(0) var<storage, read> instances: array<vec4<u32>>;
// Offset of the target, and number of the first term; the next output's is the end.
@group(0) @binding(1) var<storage, read> outputs: array<vec2<u32>>;
// Offset of the source, and number of the coefficient.
@group(0) @binding(2) var<storage, read> terms: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> coefficients: array<FRPacked>;

fn base(instance: vec4<u32>, word: u32) -> u32 {
  if (word > 3u) { return 0u; }
  return instance[word];
}

@compute @workgroup_size(64)
fn accumulate(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.instances * params.outputs) { return; }
  let instance = instances[params.first_instance + i / params.outputs];
  let number = params.first_output + i % params.outputs;
  let output = outputs[number];
  // Below the window, the difference wraps past every count.
  let at = base(instance, params.target_base) + output.x - params.target_first;
  if (at >= params.target_count) { return; }
  let source_base = base(instance, params.source_base) - params.source_first;
  var sum = FR_ZERO;
  for (var t = output.y; t < outputs[number + 1u].y; t++) {
    let place = source_base + terms[t].x;
    if (place >= params.source_count) { continue; }
    let coefficient = terms[t].y;
    var value = fr_from_plain(source_at(place));
    if (coefficient > 1u) { value = fr_mul(value, fr_unpack(coefficients[coefficient])); }
    if (coefficient == 1u) { sum = fr_sub(sum, value); } else { sum = fr_add(sum, value); }
  }
  sums[at] = fr_to_plain(fr_add(sum, fr_from_plain(sums[at])));
}
