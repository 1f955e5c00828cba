// Coordinates of G1 points: elements of Fq. The same names as in coordinate-g2.wgsl.

alias C = FQ;
alias CPacked = FQPacked;
const COMPONENTS = 1u;

fn c_unpack(w: CPacked) -> C { return fq_unpack(w); }
fn c_pack(a: C) -> CPacked { return fq_pack(a); }
fn c_add(a: C, b: C) -> C { return fq_add(a, b); }
fn c_tidy(a: C) -> C { return fq_tidy(a); }
fn c_signed(a: C, negative: bool) -> C { return fq_signed(a, negative); }
fn c_scale(a: C, k: i32) -> C { return fq_scale(a, k); }
fn c_is_zero(a: C) -> bool { return fq_is_zero(a); }
fn c_may_be_zero(a: C) -> bool { return fq_may_be_zero(a); }
fn c_one() -> C { return FQ_ONE; }
// a − b as a denominator: what is only tidied needs no carry pass.
fn c_denominator(a: C, b: C) -> C { return fq_minus(a, b); }

// Words of infinity's x: every digit at its lowest, a value that no computation gives.
fn c_is_infinity(x: CPacked) -> bool { return all((x.v0 | x.v1 | x.v2) == vec4<u32>()); }
