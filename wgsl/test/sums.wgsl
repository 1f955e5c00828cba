// Sums of two products, and Montgomery forms of integers.
const RESULTS = 3u;

@group(0) @binding(0) var<storage, read> left: array<FQPacked>;
@group(0) @binding(1) var<storage, read> right: array<FQPacked>;
@group(0) @binding(2) var<storage, read_write> result: array<FQPacked>;

@compute @workgroup_size(64)
fn sums_test(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= arrayLength(&left)) { return; }
  let a = fq_unpack(left[i]);
  let b = fq_unpack(right[i]);
  let at = RESULTS * i;
  result[at] = fq_pack(fq_tidy(fq_reduce(fq_accumulate(FQSum(), a, b))));
  result[at + 1u] = fq_pack(fq_tidy(fq_reduce(fq_accumulate(fq_accumulate(FQSum(), a, a), fq_signed(a, true), b))));
  result[at + 2u] = fq_pack(fq_to_montgomery(left[i]));
}
