// Powers of roots where the table's order is at least the transform's.
@group(0) @binding(0) var<storage, read> roots: array<FRPacked>;

fn root_power(exponent: u32, order: u32) -> FR { return fr_unpack(roots[exponent << (params.log_roots - order)]); }
