// target[i] = left[i] · right[i] / R, elements packed, or as plain integers (`plain` = 1).
struct MultiplyParams { count: u32, plain: u32 }

@group(0) @binding(0) var<storage, read> left: array<FRPacked>;
@group(0) @binding(1) var<storage, read> right: array<FRPacked>;
@group(0) @binding(2) var<storage, read_write> product: array<FRPacked>;
@group(0) @binding(3) var<uniform> params: MultiplyParams;

fn element(w: FRPacked) -> FR {
  if (params.plain == 1u) { return fr_from_plain(w); }
  return fr_unpack(w);
}

@compute @workgroup_size(64)
fn multiply(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i < params.count) { product[i] = fr_pack(fr_tidy(fr_mul(element(left[i]), element(right[i])))); }
}
