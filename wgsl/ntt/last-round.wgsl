// The last round of a group in frequency, the first one in time: factors within the group are 1, those between groups
// may be due, after the sums in frequency and before them in time.

// Powers of the root of all elements, up to where those of the small table go on.
@group(0) @binding(1) var<storage, read> fine_roots: array<FRPacked>;

// Two elements have room for one pair only.
fn is_element(i: u32) -> bool { return (i >> params.log_size) == 0u; }

// The n-th of two numbers that element i is multiplied by between groups: a power of the small table's root, and one of
// those between its powers.
fn factor(quad: Quad, i: u32, n: u32) -> FRPacked {
  let order = params.log_size - params.level;
  let p = (i & ((1u << order) - 1u)) >> quad.log_columns;
  let power = (i & ((1u << quad.log_columns) - 1u)) * (reverseBits(p) >> (32u - params.bits));
  // As a power of the root of all elements.
  let exponent = turned_exponent(power, order) << params.level;
  let fine_bits = params.log_size - params.log_roots;
  if (n == 0u) { return roots[exponent >> fine_bits]; }
  return fine_roots[exponent & ((1u << fine_bits) - 1u)];
}

struct Four { a: FR, b: FR, c: FR, d: FR }

// Elements in the order of their places: levels of the two distances, in frequency the larger first. Not carried.
fn transformed(x: Four, single: bool) -> Four {
  // Partners of the level that has no factor i.
  let across = IN_TIME || single;
  let partner = fr_select(x.c, x.b, across);
  let other = fr_select(x.b, x.c, across);
  let sum0 = fr_plus(x.a, partner);
  let difference0 = fr_minus(x.a, partner);
  let sum1 = fr_plus(other, x.d);
  var turned = fr_sub(other, x.d);
  if (single) { return Four(sum0, difference0, sum1, turned); }
  turned = fr_mul(turned, fr_unpack(quarter_root()));
  let plus = fr_plus(difference0, turned);
  let minus = fr_minus(sum0, sum1);
  return Four(fr_plus(sum0, sum1), fr_select(minus, plus, IN_TIME), fr_select(plus, minus, IN_TIME), fr_minus(difference0, turned));
}

fn with_factors(quad: Quad, i: u32, value: FR) -> FR {
  var product = value;
  for (var n = 0u; n < params.between; n++) { product = fr_mul(product, fr_unpack(factor(quad, i, n))); }
  return product;
}

fn transform_quad(quad: Quad) {
  var x = Four(FR(), FR(), FR(), FR());
  for (var k = 0u; k < params.four; k++) {
    let i = quad.at + k * quad.distance;
    var value = FR();
    if (is_element(i)) { value = load(i); }
    if (IN_TIME) { value = with_factors(quad, i, value); }
    x = Four(x.b, x.c, x.d, value);
  }
  x = transformed(x, quad.single);
  for (var k = 0u; k < params.four; k++) {
    let i = quad.at + k * quad.distance;
    // Tidied, so that it may be stored as it is.
    var value = fr_tidy(x.a);
    if (!IN_TIME) { value = with_factors(quad, i, value); }
    if (is_element(i)) { store(i, value); }
    x = Four(x.b, x.c, x.d, x.a);
  }
}
