// Signed digits of a scalar: s, or r − s with the sign turned where s > r/2, in windows of `window` bits. Digit k lies in
// (−2^(window − 1), 2^(window − 1)]; since s < 2^254, `windows` · window >= 255 leaves no carry.

const R_WORDS = array<u32, 8>(
  0x00000001u, 0xffffffffu, 0xfffe5bfeu, 0x53bda402u, 0x09a1d805u, 0x3339d808u, 0x299d7d48u, 0x73eda753u);

struct Scalar { words: array<u32, 8>, negative: bool }

fn r_minus(s: array<u32, 8>) -> array<u32, 8> {
  var result = array<u32, 8>();
  var borrow = 0u;
  for (var i = 0u; i < 8u; i++) {
    let subtrahend = s[i] + borrow;
    let carried = u32(borrow == 1u && subtrahend == 0u);
    result[i] = R_WORDS[i] - subtrahend;
    borrow = carried | u32(subtrahend > R_WORDS[i]);
  }
  return result;
}

// Whether a > b.
fn exceeds(a: array<u32, 8>, b: array<u32, 8>) -> bool {
  for (var k = 8u; k > 0u; k--) {
    if (a[k - 1u] != b[k - 1u]) { return a[k - 1u] > b[k - 1u]; }
  }
  return false;
}

fn halved(s: array<u32, 8>) -> Scalar {
  let other = r_minus(s);
  if (exceeds(s, other)) { return Scalar(other, true); }
  return Scalar(s, false);
}

fn window_bits(s: array<u32, 8>, bit: u32, width: u32) -> u32 {
  if (bit >= 256u) { return 0u; }
  let word = bit >> 5u;
  let shift = bit & 31u;
  var bits = s[word] >> shift;
  if (shift + width > 32u && word < 7u) { bits |= s[word + 1u] << (32u - shift); }
  return bits & ((1u << width) - 1u);
}
