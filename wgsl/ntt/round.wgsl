// One round of a transform of 2^log_size elements, in place: two levels, in registers, a thread on four elements, a
// quad. What is done with these, `transform_quad`, is in round-in-frequency.wgsl and round-in-time.wgsl, and in
// last-round.wgsl for the last round of a group in frequency, which is the first one in time.
//
// Levels come in groups. Before a group of 2^bits levels, the elements are blocks of N' = 2^(log_size − level); element
// p · M + j of a block (M = N'/2^bits) is element p of column j. A group's rounds transform each column, with roots
// from a small table. Decimation in frequency (natural order in, bit-reversed out) then takes element p of the column,
// which now belongs to the power k = p with reversed bits, times ω^(j k) for the root ω of N' elements; what is left
// are blocks of M elements. Decimation in time (bit-reversed in, natural out) undoes that backwards, with the factors
// first.
//
// A round works on parts of 4 d elements of a column, on those at distance d, with w = ω^t for the root ω of the part
// and the element's number t in the first quarter, i = ω^d:
//   in frequency: (a + c) + (b + d), ((a + c) − (b + d)) w², ((a − c) + i (b − d)) w, ((a − c) − i (b − d)) w³;
//   in time the same backwards. An odd level is left for the group's last round, where all these factors are 1, two
//   pairs a thread.
//
// Composed with `element_load` and `element_store` (one shard or several), `params` and IN_TIME. In frequency ω is the
// inverse of the tables' root.
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
  // A count of loops that is not to be unrolled.
  four: u32,
}

@group(0) @binding(0) var<storage, read> roots: array<FRPacked>;

// Where a thread's elements are.
struct Quad {
  // Number of the first one, and how far they are apart.
  at: u32,
  distance: u32,
  // log2 of the columns.
  log_columns: u32,
  // Exponent of w, for the small table.
  exponent: u32,
  // A single level is left.
  single: bool,
}

fn quad_of(n: u32) -> Quad {
  let log_columns = params.log_size - params.level - params.bits;
  let single = params.round + 1u == params.bits;
  let log_distance = select(params.log_size - params.level - params.round - 2u, log_columns, single);
  let low = n & ((1u << log_distance) - 1u);
  return Quad(
    ((n >> log_distance) << (log_distance + 2u)) | low,
    1u << log_distance,
    log_columns,
    (low >> log_columns) << (params.log_roots - params.bits + params.round),
    single);
}

@compute @workgroup_size(64)
fn ntt_round(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let thread = workgroup_number(group, groups) * 64u + local;
  if (thread < params.threads) { transform_quad(quad_of(params.first + thread)); }
}

fn load(i: u32) -> FR {
  let loaded = element_load(i - params.base);
  if (!IN_TIME && params.plain == 1u) { return fr_from_plain(loaded); }
  return fr_unpack(loaded);
}

// Products may be stored as they are, sums must be tidied.
fn store(i: u32, value: FR) { element_store(i - params.base, fr_pack(value)); }

// Of 2^order powers, the one that is due.
fn turned_exponent(exponent: u32, order: u32) -> u32 {
  return select((1u << order) - exponent, exponent, IN_TIME) & ((1u << order) - 1u);
}

fn root(exponent: u32) -> FRPacked { return roots[turned_exponent(exponent, params.log_roots)]; }

// i of the transform.
fn quarter_root() -> FRPacked { return root(1u << (params.log_roots - 2u)); }
