// a = A·z and b = B·z for every own row of every instance of a template; one thread a row. A row whose B is ONE takes the cheaper of A and C,
// since the witness satisfies it (the plan's FROM_C).
struct RowsParams { instances: u32, rows: u32, record_words: u32, first_row: u32 }
struct Row { offset: u32, plan: u32, a: u32, b: u32, c: u32, end: u32, defines: u32, unused: u32 }

@group(0) @binding(0) var<storage, read> z: array<FRPacked>;
@group(0) @binding(1) var<storage, read> records: array<u32>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> terms: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> coefficients: array<FRPacked>;
@group(0) @binding(5) var<storage, read_write> side_a: array<FRPacked>;
@group(0) @binding(6) var<storage, read_write> side_b: array<FRPacked>;
@group(0) @binding(7) var<uniform> params: RowsParams;

const ZERO = 0u;
const CONSTANT_ONE = 1u;
const FROM_C = 3u;
const SAME_AS_A = 4u;
const NOTHING = 0xffffffffu;

@compute @workgroup_size(64)
fn evaluate_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.instances * params.rows) { return; }
  let row = rows[params.first_row + i % params.rows];
  let record = (i / params.rows) * params.record_words;
  var values = array<FRPacked, 2>();
  // Two sides over one body.
  for (var side = 0u; side < 2u; side++) {
    let plan = (row.plan >> (8u * side)) & 0xffu;
    if (plan == SAME_AS_A) {
      values[1] = values[0];
      continue;
    }
    var start = select(row.a, row.b, side == 1u);
    var end = select(row.b, row.c, side == 1u);
    if (plan == FROM_C) { start = row.c; end = row.end; }
    if (plan <= CONSTANT_ONE) { end = start; }
    let sum = fr_add(combination(start, end, record, NOTHING), fr_select(FR_ZERO, FR_PLAIN_ONE, plan == CONSTANT_ONE));
    values[side] = fr_to_plain(sum);
  }
  let at = records[record + RECORD_ROWS] + row.offset;
  side_a[at] = values[0];
  side_b[at] = values[1];
}
