// One pass of a transform of 2^log_size elements, in place: `bits` radix-2 levels over 256 elements in workgroup memory.
//
// Decimation in frequency (natural order in, bit-reversed out) takes the levels s = 0, 1, … of distance 2^(log_size − 1 − s):
//   (u, v) → (u + v, (u − v) · ω^e);
// decimation in time (bit-reversed in, natural out) takes them backwards:
//   (u, v) → (u + v ω^e, u − v ω^e).
// With blocks of N' = 2^(log_size − level) elements, block element t · M + j (M = N'/2^bits) is element t of column j; a workgroup takes 256/2^bits
// neighbouring columns. Level l of a pass works on blocks of 2^o elements, o = log_size − level − l, whose root is ω_o, and there
// e = (t mod half) · M + j. A root's inverse needs no table of its own: ω_o^−e = −ω_o^(2^(o − 1) − e).
//
// The elements may be one shard of a larger transform, whose levels above were done by another pass: only the order of the root counts.
// Composed with `element_load`, `element_store` (one shard or several), `params`, and `root_power` of pass-roots.wgsl or pass-fine-roots.wgsl.
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
  // The table holds the powers of ω of 2^log_roots elements.
  log_roots: u32,
  // The first workgroup's number.
  first: u32,
}

@compute @workgroup_size(128)
fn ntt_pass(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let size = 1u << params.bits;
  let columns = ELEMENTS >> params.bits;
  let stride = 1u << (params.log_size - params.level - params.bits);
  let first_column = (params.first + workgroup_number(group, groups)) * columns;
  let all_columns = 1u << (params.log_size - params.bits);
  for (var slot = local; slot < ELEMENTS; slot += 128u) {
    let column = first_column + slot % columns;
    if (column < all_columns) {
      let at = address(column, slot / columns, stride);
      let loaded = element_load(at);
      if (params.plain == 1u) { store_element(slot, fr_from_plain(loaded)); } else { store_element(slot, fr_unpack(loaded)); }
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
      let exponent = t * stride + column % stride;
      let u = load_element(upper);
      let v = load_element(lower);
      let in_time = params.in_time == 1u;
      var factor = root(exponent, params.log_size - params.level - l);
      let product = fr_mul(fr_select(fr_sub(u, v), v, in_time), factor);
      store_element(upper, fr_add(u, fr_select(v, product, in_time)));
      store_element(lower, fr_select(product, fr_sub(u, product), in_time));
    }
  }
  workgroupBarrier();
  for (var slot = local; slot < ELEMENTS; slot += 128u) {
    let column = first_column + slot % columns;
    if (column < all_columns) { element_store(address(column, slot / columns, stride), fr_pack(fr_tidy(load_element(slot)))); }
  }
}

fn address(column: u32, t: u32, stride: u32) -> u32 {
  return (((column / stride) * stride) << params.bits) + t * stride + column % stride;
}

// ω^exponent, or its inverse, for the root of 2^order elements.
fn root(exponent: u32, order: u32) -> FR {
  if (params.inverse == 1u && exponent > 0u) { return fr_neg(root_power((1u << (order - 1u)) - exponent, order)); }
  return root_power(exponent, order);
}
