// An element of Fq whose inverse gives that of d: in Fq, d itself.
fn c_norm(d: C) -> FQ { return d; }
