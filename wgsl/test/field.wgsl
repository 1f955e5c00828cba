// Every function of a field on pairs of elements: results in the order of the checks that read them.
// F, FPacked and f_* are aliases of the field under test.

override workgroup_size: u32 = 64;
const RESULTS = 9u;

@group(0) @binding(0) var<storage, read> left: array<FPacked>;
@group(0) @binding(1) var<storage, read> right: array<FPacked>;
@group(0) @binding(2) var<storage, read_write> result: array<FPacked>;

@compute @workgroup_size(workgroup_size)
fn field_test(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  if (i >= arrayLength(&left)) { return; }
  let a = f_unpack(left[i]);
  let b = f_unpack(right[i]);
  let at = RESULTS * i;
  result[at] = f_pack(f_tidy(f_mul(a, b)));
  result[at + 1u] = f_pack(f_tidy(f_sqr(a)));
  result[at + 2u] = f_pack(f_tidy(f_add(a, b)));
  result[at + 3u] = f_pack(f_tidy(f_sub(a, b)));
  result[at + 4u] = f_pack(f_tidy(f_neg(a)));
  result[at + 5u] = f_pack(f_tidy(f_mul(f_sub(a, b), f_scale(b, -3))));
  result[at + 6u] = f_to_plain(f_mul(a, F_PLAIN_ONE));
  result[at + 7u] = f_pack(f_tidy(f_mul(f_from_plain(left[i]), F_R2)));
  result[at + 8u] = f_pack(f_select(F_ZERO, F_ONE, f_is_zero(f_sub(a, b))));
}
