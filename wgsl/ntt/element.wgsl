// A transform's elements in workgroup memory: digits as 16-bit halves, ten words an element, word-major, so that sums of a pass (one bit
// a level) need no reduction. The top digit has a word of its own.
const ELEMENTS = 256u;
var<workgroup> shared_words: array<u32, 2560>;

fn low_half(w: u32) -> i32 { return (i32(w) << 16u) >> 16u; }
fn high_half(w: u32) -> i32 { return i32(w) >> 16u; }
fn halves(a: i32, b: i32) -> u32 { return (u32(a) & 0xffffu) | (u32(b) << 16u); }

fn store_element(slot: u32, a: FR) {
  shared_words[slot] = halves(a.d0, a.d1);
  shared_words[ELEMENTS + slot] = halves(a.d2, a.d3);
  shared_words[2u * ELEMENTS + slot] = halves(a.d4, a.d5);
  shared_words[3u * ELEMENTS + slot] = halves(a.d6, a.d7);
  shared_words[4u * ELEMENTS + slot] = halves(a.d8, a.d9);
  shared_words[5u * ELEMENTS + slot] = halves(a.d10, a.d11);
  shared_words[6u * ELEMENTS + slot] = halves(a.d12, a.d13);
  shared_words[7u * ELEMENTS + slot] = halves(a.d14, a.d15);
  shared_words[8u * ELEMENTS + slot] = halves(a.d16, a.d17);
  shared_words[9u * ELEMENTS + slot] = u32(a.d18);
}

fn load_element(slot: u32) -> FR {
  let w0 = shared_words[slot];
  let w1 = shared_words[ELEMENTS + slot];
  let w2 = shared_words[2u * ELEMENTS + slot];
  let w3 = shared_words[3u * ELEMENTS + slot];
  let w4 = shared_words[4u * ELEMENTS + slot];
  let w5 = shared_words[5u * ELEMENTS + slot];
  let w6 = shared_words[6u * ELEMENTS + slot];
  let w7 = shared_words[7u * ELEMENTS + slot];
  let w8 = shared_words[8u * ELEMENTS + slot];
  let w9 = shared_words[9u * ELEMENTS + slot];
  return FR(
    low_half(w0), high_half(w0), low_half(w1), high_half(w1), low_half(w2), high_half(w2), low_half(w3), high_half(w3),
    low_half(w4), high_half(w4), low_half(w5), high_half(w5), low_half(w6), high_half(w6), low_half(w7), high_half(w7),
    low_half(w8), high_half(w8), i32(w9));
}
