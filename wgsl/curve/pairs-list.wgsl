// Pairs by a list: operands as batch-affine.wgsl has them; NONE as the right one takes the left point as it is.
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>;
fn pair(i: u32) -> vec2<u32> { return pairs[params.first + i]; }
