// One pass of a transform of 2^log_size elements, in place: `bits` radix-2 levels over 256 elements in workgroup memory.
//
// Decimation in frequency (natural order in, bit-reversed out) takes the levels s = 0, 1, … of distance 2^(log_size − 1 − s):
//   (u, v) → (u + v, (u − v) · ω^e);
// decimation in time (bit-reversed in, natural out) takes them backwards:
//   (u, v) → (u + v ω^e, u − v ω^e).
// With blocks of N' = 2^(log_size − level) elements, block element t · M + j (M = N'/2^bits) is element t of column j; a workgroup takes 256/2^bits
// neighbouring columns. For level l of a pass, e = ((t mod half) · M + j) · 2^(level + l). A root's inverse needs no table of its
// own: ω^−e = −ω^(n/2 − e).
struct PassParams {
  log_size: u32,
  level: u32,
  bits: u32,
  // 1: decimation in time.
  in_time: u32,
  // 1: with the inverse of ω.
  inverse: u32,
  // 1: elements come as plain integers.
  plain: u32,
}

@group(0) @binding(0) var<storage, read_write> elements: array<FRPacked>;
@group(0) @binding(1) var<storage, read> roots: array<FRPacked>;
@group(0) @binding(2) var<uniform> params: PassParams;

@compute @workgroup_size(128)
fn ntt_pass(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let size = 1u << params.bits;
  let columns = ELEMENTS >> params.bits;
  let stride = 1u << (params.log_size - params.level - params.bits);
  let first_column = workgroup_number(group, groups) * columns;
  let all_columns = 1u << (params.log_size - params.bits);
  for (var slot = local; slot < ELEMENTS; slot += 128u) {
    let column = first_column + slot % columns;
    if (column < all_columns) {
      let at = address(column, slot / columns, stride);
      if (params.plain == 1u) { store_element(slot, fr_from_plain(elements[at])); } else { store_element(slot, fr_unpack(elements[at])); }
    }
  }
  for (var k = 0u; k < params.bits; k++) {
    workgroupBarrier();
    let l = select(k, params.bits - 1u - k, params.in_time == 1u);
    let half = size >> (l + 1u);
    let butterfly = local / columns;
    let place = local % columns;
    let column = first_column + place;
    if (butterfly < size / 2u && column < all_columns) {
      let t = butterfly % half;
      let upper = ((butterfly / half) * 2u * half + t) * columns + place;
      let lower = upper + half * columns;
      let exponent = (t * stride + column % stride) << (params.level + l);
      let u = load_element(upper);
      let v = load_element(lower);
      let in_time = params.in_time == 1u;
      var factor = fr_unpack(root(exponent));
      if (params.inverse == 1u && exponent > 0u) { factor = fr_neg(factor); }
      let product = fr_mul(fr_select(fr_sub(u, v), v, in_time), factor);
      store_element(upper, fr_add(u, fr_select(v, product, in_time)));
      store_element(lower, fr_select(product, fr_sub(u, product), in_time));
    }
  }
  workgroupBarrier();
  for (var slot = local; slot < ELEMENTS; slot += 128u) {
    let column = first_column + slot % columns;
    if (column < all_columns) { elements[address(column, slot / columns, stride)] = fr_pack(fr_tidy(load_element(slot))); }
  }
}

fn address(column: u32, t: u32, stride: u32) -> u32 {
  return (((column / stride) * stride) << params.bits) + t * stride + column % stride;
}

fn root(exponent: u32) -> FRPacked {
  if (params.inverse == 1u && exponent > 0u) { return roots[(1u << (params.log_size - 1u)) - exponent]; }
  return roots[exponent];
}
