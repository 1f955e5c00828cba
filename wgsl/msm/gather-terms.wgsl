// Copies the points and scalars of a list of numbers next to each other, one thread a vector: those of a point, then
// the two of its scalar.
struct GatherParams {
  count: u32,
  // Number of the first scalar in the buffer of scalars.
  first: u32,
  // Where the terms go, as a number of a term.
  at: u32,
  point_vectors: u32,
}

@group(0) @binding(0) var<storage, read> list: array<u32>;
@group(0) @binding(1) var<storage, read> points: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> scalars: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> term_points: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> term_scalars: array<vec4<u32>>;
@group(0) @binding(5) var<uniform> params: GatherParams;

@compute @workgroup_size(64)
fn gather_terms(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  let vectors = params.point_vectors + 2u;
  let term = i / vectors;
  let part = i % vectors;
  if (term >= params.count) { return; }
  let number = list[term];
  if (part < params.point_vectors) {
    term_points[(params.at + term) * params.point_vectors + part] = points[number * params.point_vectors + part];
  } else {
    let half = part - params.point_vectors;
    term_scalars[2u * (params.at + term) + half] = scalars[2u * (params.first + number) + half];
  }
}
