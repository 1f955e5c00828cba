// Powers of an element to all exponents of a domain, from two tables of about its square root: base^e is the power of
// e's lower bits times that of its upper bits. Elements in bit-reversed order belong to the exponent of their index'
// reversed bits.
struct ShardParams {
  log_size: u32,
  // Where the shard begins.
  first: u32,
  count: u32,
  // Bits of an exponent's lower part.
  low_bits: u32,
}

fn power_at(i: u32) -> FR {
  let exponent = reverseBits(params.first + i) >> (32u - params.log_size);
  let low = exponent & ((1u << params.low_bits) - 1u);
  return fr_mul(fr_unpack(low_powers[low]), fr_unpack(high_powers[exponent >> params.low_bits]));
}
