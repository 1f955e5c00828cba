// a = A·z and b = B·z for every own row of some instances of a template, as far as they lie in one shard of the result;
// one thread a row. A row whose B is ONE takes the cheaper of A and C, since the witness satisfies it (the plan's
// FROM_C).
struct RowsParams {
  first: u32,
  instances: u32,
  rows: u32,
  record_words: u32,
  rows_at: u32,
  terms_at: u32,
  // The shard: its first row and how many it has.
  shard_first: u32,
  shard_rows: u32,
}

@group(0) @binding(2) var<storage, read_write> side_a: array<FRPacked>;
@group(0) @binding(3) var<storage, read_write> side_b: array<FRPacked>;

const ZERO = 0u;
const CONSTANT_ONE = 1u;
const FROM_C = 3u;
const SAME_AS_A = 4u;
const NOTHING = 0xffffffffu;

@compute @workgroup_size(64)
fn evaluate_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.instances * params.rows) { return; }
  let row = row_at(params.rows_at + (i % params.rows) * ROW_WORDS);
  let record = (params.first + i / params.rows) * params.record_words;
  // Below the shard's first row this wraps to a number past its rows.
  let at = table[record + RECORD_ROWS] + row.offset - params.shard_first;
  if (at >= params.shard_rows) { return; }
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
  side_a[at] = values[0];
  side_b[at] = values[1];
}
