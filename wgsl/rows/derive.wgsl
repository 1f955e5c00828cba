// Derived variables by the rows that define them: v = ±(A·B − rest of C), row after row; one thread an instance.
struct DeriveParams { first: u32, instances: u32, rows: u32, record_words: u32, rows_at: u32, terms_at: u32, two: u32 }

const NOTHING = 0xffffffffu;

@compute @workgroup_size(64)
fn derive(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.instances) { return; }
  let record = (params.first + i) * params.record_words;
  for (var r = 0u; r < params.rows; r++) {
    let row = row_at(params.rows_at + r * ROW_WORDS);
    if (row.defines == NOTHING) { continue; }
    let variable = AUX | row.defines;
    var a = FR_ZERO;
    var b = FR_ZERO;
    var rest = FR_ZERO;
    for (var side = 0u; side < params.two + 1u; side++) {
      var start = row.a;
      var end = row.b;
      if (side == 1u) { start = row.b; end = row.c; }
      if (side == 2u) { start = row.c; end = row.end; }
      let sum = combination(start, end, record, variable);
      if (side == 0u) { a = sum; }
      if (side == 1u) { b = sum; }
      if (side == 2u) { rest = sum; }
    }
    // A into Montgomery form, then A·B is plain.
    var product = a;
    for (var step = 0u; step < params.two; step++) { product = fr_mul(product, fr_select(FR_R2, b, step == 1u)); }
    var value = fr_sub(product, rest);
    for (var t = row.c; t < row.end; t++) {
      let at = params.terms_at + 2u * t;
      if (table[at] == variable && (table[at + 1u] == MINUS_ONE || table[at + 1u] == 1u)) { value = fr_neg(value); }
    }
    z_store(place(variable, record), fr_to_plain(value));
  }
}
