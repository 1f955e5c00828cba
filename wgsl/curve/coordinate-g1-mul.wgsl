// Multiplication of G1 coordinates: the only body of a kernel, so loops go around it.
fn c_mul(a: C, b: C) -> C { return fq_mul(a, b); }
