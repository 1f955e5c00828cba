// A round in time that is not the first of its group: one body for four products, those of b, c, d and then i (c − d).
// Roots are loaded before.
fn transform_quad(quad: Quad) {
  let at = quad.at;
  let distance = quad.distance;
  let first = element_load(at - params.base);
  var value = load(at + distance);
  var second = element_load(at + 2u * distance - params.base);
  let third = element_load(at + 3u * distance - params.base);
  var root0 = root(2u * quad.exponent);
  var root1 = root(quad.exponent);
  var root2 = root(3u * quad.exponent);
  let root3 = quarter_root();
  // Products of b and c, then b's and c + d.
  var b = FR();
  var sum = FR();
  var product = FR();
  for (var k = 0u; k < params.four; k++) {
    product = fr_mul(value, fr_unpack(root0));
    if (k < 2u) {
      b = sum;
      sum = product;
      value = fr_unpack(second);
      second = third;
    } else if (k == 2u) {
      value = fr_sub(sum, product);
      sum = fr_plus(sum, product);
    }
    root0 = root1;
    root1 = root2;
    root2 = root3;
  }
  let a = fr_unpack(first);
  let even = fr_plus(a, b);
  let odd = fr_minus(a, b);
  store(at, fr_tidy(fr_plus(even, sum)));
  store(at + distance, fr_tidy(fr_plus(odd, product)));
  store(at + 2u * distance, fr_tidy(fr_minus(even, sum)));
  store(at + 3u * distance, fr_tidy(fr_minus(odd, product)));
}
