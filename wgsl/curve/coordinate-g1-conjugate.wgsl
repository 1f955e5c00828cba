// What the numerator is multiplied by, besides the inverse norm, to divide by d: nothing.
fn c_conjugate(d: C) -> C { return FQ_ONE; }
const CONJUGATE_IS_ONE = true;
fn c_embed(a: FQ) -> C { return a; }
