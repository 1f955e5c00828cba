// Coordinates of G2 points: elements c0 + c1 u of Fq2 = Fq[u] / (u² + 1). The same names as in coordinate-g1.wgsl.

struct C { c0: FQ, c1: FQ }
struct CPacked { c0: FQPacked, c1: FQPacked }
const COMPONENTS = 2u;

fn c_unpack(w: CPacked) -> C { return C(fq_unpack(w.c0), fq_unpack(w.c1)); }
fn c_pack(a: C) -> CPacked { return CPacked(fq_pack(a.c0), fq_pack(a.c1)); }
fn c_add(a: C, b: C) -> C { return C(fq_add(a.c0, b.c0), fq_add(a.c1, b.c1)); }
fn c_tidy(a: C) -> C { return C(fq_tidy(a.c0), fq_tidy(a.c1)); }
fn c_signed(a: C, negative: bool) -> C { return C(fq_signed(a.c0, negative), fq_signed(a.c1, negative)); }
fn c_scale(a: C, k: i32) -> C { return C(fq_scale(a.c0, k), fq_scale(a.c1, k)); }
fn c_is_zero(a: C) -> bool { return fq_is_zero(a.c0) && fq_is_zero(a.c1); }
fn c_may_be_zero(a: C) -> bool { return fq_may_be_zero(a.c0); }
fn c_one() -> C { return C(FQ_ONE, FQ_ZERO); }
// a − b as a denominator, which is multiplied.
fn c_denominator(a: C, b: C) -> C { return C(fq_sub(a.c0, b.c0), fq_sub(a.c1, b.c1)); }

// Words of infinity's x: every digit at its lowest, a value that no computation gives.
fn c_is_infinity(x: CPacked) -> bool {
  return all((x.c0.v0 | x.c0.v1 | x.c0.v2 | x.c1.v0 | x.c1.v1 | x.c1.v2) == vec4<u32>());
}
