// elements[i] ← elements[i] · factors[i] / R, both packed, or both as plain integers (`plain` = 1).
struct MultiplyParams { count: u32, plain: u32 }

@group(0) @binding(0) var<storage, read_write> elements: array<FRPacked>;
@group(0) @binding(1) var<storage, read> factors: array<FRPacked>;
@group(0) @binding(2) var<uniform> params: MultiplyParams;

fn element(w: FRPacked) -> FR {
  if (params.plain == 1u) { return fr_from_plain(w); }
  return fr_unpack(w);
}

@compute @workgroup_size(64)
fn multiply(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i < params.count) { elements[i] = fr_pack(fr_tidy(fr_mul(element(elements[i]), element(factors[i])))); }
}
