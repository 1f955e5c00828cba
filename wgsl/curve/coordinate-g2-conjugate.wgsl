fn c_conjugate(d: C) -> C { return C(d.c0, fq_neg(d.c1)); }
const CONJUGATE_IS_ONE = false;
fn c_embed(a: FQ) -> C { return C(a, FQ_ZERO); }
