// Squaring of G1 coordinates: a body of its own, in a kernel that has no other.
fn c_sqr(a: C) -> C { return fq_sqr(a); }
