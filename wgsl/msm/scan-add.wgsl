// Adds each block's offset to the sums of scan.wgsl.
struct ScanParams { count: u32 }

@group(0) @binding(0) var<storage, read_write> sums: array<u32>;
@group(0) @binding(1) var<storage, read> block_offset: array<u32>;
@group(0) @binding(2) var<uniform> params: ScanParams;

@compute @workgroup_size(256)
fn add_blocks(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 256u + local;
  if (i < params.count) { sums[i] += block_offset[i / 1024u]; }
}
