// One round of a transform of 2^log_size elements, in place: two levels, in registers, a thread on four elements. What round-in-frequency.wgsl and
// round-in-time.wgsl share.
//
// Levels come in groups. Before a group of 2^bits levels, the elements are blocks of N' = 2^(log_size − level); element p · M + j of a block
// (M = N'/2^bits) is element p of column j. A group's rounds transform each column, with roots from a small table. Decimation in frequency
// (natural order in, bit-reversed out) then takes element p of the column, which now belongs to the power k = p with reversed bits, times
// ω^(j k) for the root ω of N' elements; what is left are blocks of M elements. Decimation in time (bit-reversed in, natural out) undoes
// that backwards, with the factors first.
//
// A round works on parts of 4 d elements of a column, on those at distance d, with w = ω^t for the root ω of the part and the element's number
// t in the first quarter, i = ω^d:
//   in frequency: (a + c) + (b + d), ((a + c) − (b + d)) w², ((a − c) + i (b − d)) w, ((a − c) − i (b − d)) w³;
//   in time the same backwards. An odd level is left for the end, where its factors are 1, two pairs a thread.
//
// Composed with `element_load` and `element_store` (one shard or several), `params`, and INVERSE: whether ω is the inverse of the tables' root.
struct RoundParams {
  log_size: u32,
  // The group's first level, its levels, and the round's first one within the group.
  level: u32,
  bits: u32,
  round: u32,
  // 1: elements come as plain integers.
  plain: u32,
  // Number of the first thread, how many there are, and number of the first element that is bound.
  first: u32,
  threads: u32,
  base: u32,
  // The small table has the powers of the root of 2^log_roots elements.
  log_roots: u32,
  // Multiplications that an element takes on its way to the next group: 2, or 0 after the last one.
  between: u32,
  // A count of a loop that is not to be unrolled.
  four: u32,
}

@group(0) @binding(0) var<storage, read> roots: array<FRPacked>;
// Powers of the root of all elements, up to where those of the small table go on.
@group(0) @binding(1) var<storage, read> fine_roots: array<FRPacked>;

// Where a thread's elements are.
struct Quad {
  // Number of the first one, and log2 of how far they are apart.
  at: u32,
  log_distance: u32,
  // log2 of the columns.
  log_columns: u32,
  // Exponent of w, for the small table.
  exponent: u32,
  // A single level is left.
  single: bool,
  // The first element that is multiplied, and how many times each is.
  first_factor: u32,
  factors: u32,
}

fn quad_of(n: u32) -> Quad {
  let log_columns = params.log_size - params.level - params.bits;
  let single = params.round + 1u == params.bits;
  let log_distance = select(params.log_size - params.level - params.round - 2u, log_columns, single);
  let low = n & ((1u << log_distance) - 1u);
  let last = params.round + 2u >= params.bits;
  return Quad(
    ((n >> log_distance) << (log_distance + 2u)) | low,
    log_distance,
    log_columns,
    (low >> log_columns) << (params.log_roots - params.bits + params.round),
    single,
    select(1u, select(4u, 0u, params.between > 0u), last),
    select(1u, params.between, last));
}

// Two elements have room for one pair only.
fn is_element(i: u32) -> bool { return (i >> params.log_size) == 0u; }

fn load(i: u32) -> FR {
  if (!is_element(i)) { return FR(); }
  let loaded = element_load(i - params.base);
  if (params.plain == 1u) { return fr_from_plain(loaded); }
  return fr_unpack(loaded);
}

// Products may be stored as they are, sums must be tidied.
fn store(i: u32, value: FR) {
  if (is_element(i)) { element_store(i - params.base, fr_pack(value)); }
}

// Of 2^order ones, the power that is due: of the inverse in frequency.
fn turned_exponent(exponent: u32, order: u32) -> u32 {
  return select(exponent, (1u << order) - exponent, INVERSE) & ((1u << order) - 1u);
}

fn root(exponent: u32) -> FR { return fr_unpack(roots[turned_exponent(exponent, params.log_roots)]); }

// i of the transform.
fn quarter_root() -> FR { return root(1u << (params.log_roots - 2u)); }

// The n-th number that element k of a thread is multiplied by.
fn factor(quad: Quad, k: u32, n: u32) -> FR {
  // w², w, w³.
  if (quad.first_factor == 1u) { return root(quad.exponent * select(k, 3u - k, k < 3u)); }
  let i = quad.at + (k << quad.log_distance);
  let order = params.log_size - params.level;
  let p = (i & ((1u << order) - 1u)) >> quad.log_columns;
  let power = (i & ((1u << quad.log_columns) - 1u)) * (reverseBits(p) >> (32u - params.bits));
  // As a power of the root of all elements: one of the small table's times one of those between.
  let exponent = turned_exponent(power, order) << params.level;
  let fine_bits = params.log_size - params.log_roots;
  if (n == 0u) { return fr_unpack(roots[exponent >> fine_bits]); }
  return fr_unpack(fine_roots[exponent & ((1u << fine_bits) - 1u)]);
}

struct Four { a: FR, b: FR, c: FR, d: FR }

// Elements in the order of their places: levels of the two distances, in frequency the larger first. Not carried.
fn transformed(x: Four, quad: Quad, in_time: bool) -> Four {
  // Partners of the level that has no factor i.
  let across = in_time || quad.single;
  let partner = fr_select(x.c, x.b, across);
  let other = fr_select(x.b, x.c, across);
  var turned = fr_sub(other, x.d);
  let sum0 = fr_plus(x.a, partner);
  let difference0 = fr_minus(x.a, partner);
  let sum1 = fr_plus(other, x.d);
  if (quad.single) { return Four(sum0, difference0, sum1, turned); }
  turned = fr_mul(turned, quarter_root());
  let last = fr_minus(difference0, turned);
  let plus = fr_plus(difference0, turned);
  let minus = fr_minus(sum0, sum1);
  return Four(fr_plus(sum0, sum1), fr_select(minus, plus, in_time), fr_select(plus, minus, in_time), last);
}
