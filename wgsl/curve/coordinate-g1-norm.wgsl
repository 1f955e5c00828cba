// An element of Fq whose inverse gives that of d: in Fq, d itself.
fn c_norm(d: C) -> FQ { return d; }
// a − b as c_norm takes it: what is only tidied needs no carry pass.
fn c_denominator(a: C, b: C) -> C { return fq_minus(a, b); }
