// A table of multiples grows from those up to n to those up to 2n: (n + d) · base_k = d · base_k + n · base_k, for d =
// 1 … n and every base.
struct DoublingParams { pairs: u32, bases: u32, n: u32 }

@group(0) @binding(0) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> params: DoublingParams;

@compute @workgroup_size(64)
fn doubling_pairs(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i < params.pairs) { pairs[i] = vec2(i, (params.n - 1u) * params.bases + i % params.bases); }
}
