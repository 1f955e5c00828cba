// One pass of a transform of 2^log_size elements, in place: a transform of 2^bits elements of every column, in workgroup memory, and a factor
// an element between passes.
//
// Blocks are of N' = 2^(log_size − level) elements; element p · M + j of a block (M = N'/2^bits) is element p of column j. A workgroup takes
// 256/2^bits neighbouring columns. Decimation in frequency (natural order in, bit-reversed out) transforms a column, then takes its element p,
// which now belongs to the power k = p with reversed bits, times ω^(j k) for the root ω of N' elements; what is left are blocks of M elements.
// Decimation in time (bit-reversed in, natural out) undoes that backwards, with the factors first.
//
// Two levels of a column's transform are done in registers, by a thread on four elements at distance d of a part of 4 d elements, with
// w = ω^t for the root ω of that part and the element's number t in the first quarter, i = ω^d:
//   in frequency: (a + c) + (b + d), ((a + c) − (b + d)) w², ((a − c) + i (b − d)) w, ((a − c) − i (b − d)) w³;
//   in time the same backwards. An odd level is left for the end, where its factors are 1.
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
  // Counts of loops that are not to be unrolled: a kernel has room for few multiplications.
  two: u32,
  four: u32,
}

// All 256 powers of the root of 256 elements.
@group(0) @binding(1) var<storage, read> small_roots: array<FRPacked>;

const LANES = 64u;

// Element and column of a thread's four operands.
struct Operand { position: u32, place: u32 }

fn operand(k: u32, local: u32, quarter: u32) -> Operand {
  // A column of two: two columns a thread.
  if (params.bits == 1u) { return Operand(k & 1u, local + LANES * (k >> 1u)); }
  let columns = ELEMENTS >> params.bits;
  let quad = local / columns;
  return Operand((quad / quarter) * 4u * quarter + quad % quarter + k * quarter, local % columns);
}

fn slot_of(k: u32, local: u32, quarter: u32) -> u32 {
  let at = operand(k, local, quarter);
  return at.position * (ELEMENTS >> params.bits) + at.place;
}

@compute @workgroup_size(64)
fn ntt_pass(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let bits = params.bits;
  let in_time = params.in_time == 1u;
  let columns = ELEMENTS >> bits;
  let stride = 1u << (params.log_size - params.level - bits);
  let first_column = (params.first + workgroup_number(group, groups)) * columns;
  let all_columns = 1u << (params.log_size - bits);
  for (var slot = local; slot < ELEMENTS; slot += LANES) {
    let column = first_column + slot % columns;
    if (column < all_columns) {
      let loaded = element_load(address(column, slot / columns, stride));
      if (params.plain == 1u) { store_element(slot, fr_from_plain(loaded)); } else { store_element(slot, fr_unpack(loaded)); }
    }
  }
  let rounds = (bits + 1u) / 2u;
  for (var n = 0u; n < rounds; n++) {
    workgroupBarrier();
    let round = select(n, rounds - 1u - n, in_time);
    let single = 2u * round + 1u == bits;
    let last = round == rounds - 1u;
    let quarter = select((1u << bits) >> (2u * round + 2u), 1u, single);
    let t = (local / columns) % quarter;
    // Of the last round, all factors are those between passes.
    let first_factor = select(1u, select(4u, 0u, stride > 1u), last);
    let slot1 = slot_of(1u, local, quarter);
    let slot2 = slot_of(2u, local, quarter);
    let slot3 = slot_of(3u, local, quarter);
    for (var phase = 0u; phase < params.two; phase++) {
      if ((phase == 0u) == in_time) {
        for (var k = first_factor; k < params.four; k++) {
          var factor = FR();
          if (last) {
            let at = operand(k, local, quarter);
            factor = pass_factor((first_column + at.place) % stride, at.position);
          } else {
            // 2 t, t, 3 t.
            factor = small_root((t * select(k, 3u - k, k < 3u)) << (8u + 2u * round - bits));
          }
          let slot = slot_of(k, local, quarter);
          store_element(slot, fr_mul(load_element(slot), factor));
        }
      } else {
        let slot0 = slot_of(0u, local, quarter);
        // Partners of the level that has no factor i.
        let partner = select(slot2, slot1, in_time || single);
        let other = slot1 + slot2 - partner;
        var turned = fr_sub(load_element(other), load_element(slot3));
        if (!single) { turned = fr_mul(turned, small_root(64u)); }
        // Sums of up to four: their digits are carried once, when they are complete.
        let x0 = load_element(slot0);
        let u = load_element(partner);
        let sum0 = fr_plus(x0, u);
        let difference0 = fr_minus(x0, u);
        let sum1 = fr_plus(load_element(other), load_element(slot3));
        if (single) {
          store_element(slot0, fr_light(sum0));
          store_element(slot1, fr_light(difference0));
          store_element(slot2, fr_light(sum1));
          store_element(slot3, turned);
        } else {
          store_element(slot0, fr_add(sum0, sum1));
          store_element(other, fr_sub(sum0, sum1));
          store_element(slot3, fr_sub(difference0, turned));
          store_element(partner, fr_add(difference0, turned));
        }
      }
    }
  }
  workgroupBarrier();
  for (var slot = local; slot < ELEMENTS; slot += LANES) {
    let column = first_column + slot % columns;
    if (column < all_columns) { element_store(address(column, slot / columns, stride), fr_pack(fr_tidy(load_element(slot)))); }
  }
}

fn address(column: u32, p: u32, stride: u32) -> u32 {
  return (((column / stride) * stride) << params.bits) + p * stride + column % stride;
}

fn small_root(exponent: u32) -> FR {
  if (params.inverse == 1u) { return fr_unpack(small_roots[(256u - exponent) & 255u]); }
  return fr_unpack(small_roots[exponent]);
}

// The factor between passes of element p of column j. Half the powers are in the table; ω^(N'/2) is −1.
fn pass_factor(j: u32, p: u32) -> FR {
  let order = params.log_size - params.level;
  let half = 1u << (order - 1u);
  var exponent = j * (reverseBits(p) >> (32u - params.bits));
  if (params.inverse == 1u && exponent > 0u) { exponent = 2u * half - exponent; }
  let negative = exponent >= half;
  return fr_signed(root_power(exponent - select(0u, half, negative), order), negative);
}
