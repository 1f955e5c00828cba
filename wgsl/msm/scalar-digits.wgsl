// Signed digits of a scalar: s, or r − s with the sign turned where s > r/2, in windows of `window` bits. Digit k lies
// in (−2^(window − 1), 2^(window − 1)]; since s < 2^254, `windows` · window >= 255 leaves no carry. Words are named,
// not indexed: arrays indexed at run time go to memory on some drivers.

// 256 bits, least significant word first.
struct Scalar { low: vec4<u32>, high: vec4<u32> }

const R_LOW = vec4<u32>(0x00000001u, 0xffffffffu, 0xfffe5bfeu, 0x53bda402u);
const R_HIGH = vec4<u32>(0x09a1d805u, 0x3339d808u, 0x299d7d48u, 0x73eda753u);

// a − b − borrow, and the borrow that it leaves.
fn subtract(a: u32, b: u32, borrow: u32) -> vec2<u32> {
  let difference = a - b;
  return vec2(difference - borrow, u32(a < b) | u32(difference < borrow));
}

fn r_minus(s: Scalar) -> Scalar {
  let d0 = subtract(R_LOW.x, s.low.x, 0u);
  let d1 = subtract(R_LOW.y, s.low.y, d0.y);
  let d2 = subtract(R_LOW.z, s.low.z, d1.y);
  let d3 = subtract(R_LOW.w, s.low.w, d2.y);
  let d4 = subtract(R_HIGH.x, s.high.x, d3.y);
  let d5 = subtract(R_HIGH.y, s.high.y, d4.y);
  let d6 = subtract(R_HIGH.z, s.high.z, d5.y);
  let d7 = subtract(R_HIGH.w, s.high.w, d6.y);
  return Scalar(vec4(d0.x, d1.x, d2.x, d3.x), vec4(d4.x, d5.x, d6.x, d7.x));
}

fn greater(a: u32, b: u32, below: bool) -> bool { return a > b || (a == b && below); }

// Whether a > b.
fn exceeds(a: Scalar, b: Scalar) -> bool {
  var result = greater(a.low.x, b.low.x, false);
  result = greater(a.low.y, b.low.y, result);
  result = greater(a.low.z, b.low.z, result);
  result = greater(a.low.w, b.low.w, result);
  result = greater(a.high.x, b.high.x, result);
  result = greater(a.high.y, b.high.y, result);
  result = greater(a.high.z, b.high.z, result);
  return greater(a.high.w, b.high.w, result);
}

// s / 2^count, for 0 < count < 32.
fn shifted(s: Scalar, count: u32) -> Scalar {
  let left = 32u - count;
  return Scalar(
    (s.low >> vec4(count)) | (vec4(s.low.yzw, s.high.x) << vec4(left)),
    (s.high >> vec4(count)) | (vec4(s.high.yzw, 0u) << vec4(left)));
}
