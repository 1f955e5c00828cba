// A round in frequency that is not the last of its group: one body for four products, i (b − d) and then what is
// stored. Roots are loaded before.
fn transform_quad(quad: Quad) {
  let at = quad.at;
  let distance = quad.distance;
  let a = load(at);
  let b = load(at + distance);
  let c = load(at + 2u * distance);
  let d = load(at + 3u * distance);
  var root0 = quarter_root();
  var root1 = root(2u * quad.exponent);
  var root2 = root(quad.exponent);
  let root3 = root(3u * quad.exponent);
  let even = fr_plus(a, c);
  let odd = fr_plus(b, d);
  store(at, fr_tidy(fr_plus(even, odd)));
  var value = fr_sub(b, d);
  var next = fr_sub(even, odd);
  var third = fr_minus(a, c);
  for (var k = 0u; k < params.four; k++) {
    let product = fr_mul(value, fr_unpack(root0));
    value = next;
    next = third;
    if (k == 0u) {
      next = fr_add(third, product);
      third = fr_sub(third, product);
    } else {
      store(at + k * distance, product);
    }
    root0 = root1;
    root1 = root2;
    root2 = root3;
  }
}
