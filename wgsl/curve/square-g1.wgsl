// λ²: a body of its own, in a kernel that has no other.
fn square_part(n: u32, k: u32) -> FQ { return fq_sqr(fq_unpack(slope[n])); }
