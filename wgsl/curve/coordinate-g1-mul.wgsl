// Multiplication of G1 coordinates: the only body of a kernel, so loops go around it.
fn c_mul(a: C, b: C) -> C { return fq_mul(a, b); }
// The same, where b may be known to be an element of Fq.
fn c_mul_by(a: C, b: C, real: bool) -> C { return fq_mul(a, b); }
