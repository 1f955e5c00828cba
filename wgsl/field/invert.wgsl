// Inverses of the few totals that batch inversion leaves, one a thread; 0 gives 0.
struct InvertParams { count: u32, batches: u32 }

@group(0) @binding(0) var<storage, read> element: array<FQPacked>;
@group(0) @binding(1) var<storage, read_write> inverse: array<FQPacked>;
@group(0) @binding(2) var<uniform> params: InvertParams;

override workgroup_size: u32 = 64;

@compute @workgroup_size(workgroup_size)
fn invert(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * workgroup_size + local;
  if (i >= params.count) { return; }
  inverse[i] = fq_pack(fq_invert(fq_unpack(element[i]), params.batches));
}
