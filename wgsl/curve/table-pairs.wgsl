// First round of fixed-base multiples: pair j of scalar i adds the table's points for its bytes 2j and 2j + 1. Row k of the table has
// d · 2^(8 k) · base at place d − 1; a byte 0 has no point, and takes the infinity behind the table.
struct TableParams { scalars: u32, first: u32 }

@group(0) @binding(0) var<storage, read> scalars: array<array<u32, 8>>;
@group(0) @binding(1) var<storage, read_write> pairs: array<vec2<u32>>;
@group(0) @binding(2) var<uniform> params: TableParams;

const ROW = 255u;
const ROWS = 32u;

fn table_point(scalar: u32, k: u32) -> u32 {
  let byte = (scalars[scalar][k >> 2u] >> (8u * (k & 3u))) & 0xffu;
  return select(ROW * k + byte - 1u, ROW * ROWS, byte == 0u);
}

@compute @workgroup_size(64)
fn table_pairs(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.scalars * ROWS / 2u) { return; }
  let scalar = params.first + i / (ROWS / 2u);
  let j = i % (ROWS / 2u);
  pairs[i] = vec2(table_point(scalar, 2u * j), table_point(scalar, 2u * j + 1u));
}
