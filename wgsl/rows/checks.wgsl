// Rows that define nothing: those that define a variable hold, since it was derived from them, and these hold only if
// the witness is right. A·B − C of each, one thread a row of an instance; the lowest number of one where it is not 0 is
// left in `violated`.
struct ChecksParams { first: u32, instances: u32, rows: u32, record_words: u32, rows_at: u32, terms_at: u32, two: u32 }

@group(0) @binding(2) var<storage, read_write> violated: atomic<u32>;

const NOTHING = 0xffffffffu;

@compute @workgroup_size(64)
fn check_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.instances * params.rows) { return; }
  let row = row_at(params.rows_at + (i % params.rows) * ROW_WORDS);
  if (row.defines != NOTHING) { return; }
  let record = (params.first + i / params.rows) * params.record_words;
  var a = FR_ZERO;
  var b = FR_ZERO;
  var c = FR_ZERO;
  for (var side = 0u; side < params.two + 1u; side++) {
    var start = row.a;
    var end = row.b;
    if (side == 1u) { start = row.b; end = row.c; }
    if (side == 2u) { start = row.c; end = row.end; }
    let sum = combination(start, end, record, NOTHING);
    if (side == 0u) { a = sum; }
    if (side == 1u) { b = sum; }
    if (side == 2u) { c = sum; }
  }
  // A into Montgomery form, then A·B is plain.
  var product = a;
  for (var step = 0u; step < params.two; step++) { product = fr_mul(product, fr_select(FR_R2, b, step == 1u)); }
  if (!fr_is_zero(fr_sub(product, c))) { atomicMin(&violated, table[record + RECORD_ROWS] + row.offset); }
}
