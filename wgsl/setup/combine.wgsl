// w ← β u + α v + w, all plain.
struct CombineParams { count: u32, two: u32 }

// β and α in Montgomery form.
@group(0) @binding(0) var<storage, read> constants: array<FRPacked>;
@group(0) @binding(1) var<storage, read> u: array<FRPacked>;
@group(0) @binding(2) var<storage, read> v: array<FRPacked>;
@group(0) @binding(3) var<storage, read_write> w: array<FRPacked>;
@group(0) @binding(4) var<uniform> params: CombineParams;

@compute @workgroup_size(64)
fn combine(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.count) { return; }
  var sum = fr_from_plain(w[i]);
  for (var side = 0u; side < params.two; side++) {
    var value = u[i];
    if (side == 1u) { value = v[i]; }
    sum = fr_add(sum, fr_mul(fr_unpack(constants[side]), fr_from_plain(value)));
  }
  w[i] = fr_to_plain(sum);
}
