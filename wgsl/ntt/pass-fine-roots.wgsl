// Powers of roots where the table's order may be below the transform's: ω_o^e is a power of the table's root, by the upper bits of e,
// times one of the few powers of the transform's root between 1 and that, by the lower bits.
@group(0) @binding(0) var<storage, read> roots: array<FRPacked>;
@group(0) @binding(2) var<storage, read> fine_roots: array<FRPacked>;

fn root_power(exponent: u32, order: u32) -> FR {
  if (order <= params.log_roots) { return fr_unpack(roots[exponent << (params.log_roots - order)]); }
  let below = order - params.log_roots;
  let coarse = fr_unpack(roots[exponent >> below]);
  let rest = (exponent & ((1u << below) - 1u)) << (params.log_size - order);
  if (rest == 0u) { return coarse; }
  return fr_mul(coarse, fr_unpack(fine_roots[rest]));
}
