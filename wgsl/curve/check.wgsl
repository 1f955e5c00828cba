// Whether points lie on the curve: y² − x³ − b = 0, or both parts of that in Fq2. The first steps give the squares that
// x³ is made of; in each further one two products together are a part of y² − x³, reduced once. `first_bad` gets the
// lowest number of a point that does not, counted from `first` on; it starts above all of them.
struct CheckParams { points: u32, steps: u32, first: u32 }

@group(0) @binding(0) var<storage, read> coordinates: array<FQPacked>;
@group(0) @binding(1) var<storage, read_write> first_bad: atomic<u32>;
@group(0) @binding(2) var<uniform> params: CheckParams;

struct Squares { first: FQ, second: FQ }
struct Factors { left: FQ, right: FQ }

// Coordinate k of point i.
fn coordinate(i: u32, k: u32) -> FQ { return fq_unpack(coordinates[COORDINATES * i + k]); }

@compute @workgroup_size(64)
fn check_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.points) { return; }
  var squares = Squares();
  var on_curve = true;
  // The number of steps comes from the uniform, else a compiler would unroll them into as many bodies.
  for (var step = 0u; step < params.steps; step++) {
    let of_x = factors_of_x(step, i, squares);
    var sum = fq_accumulate(FQSum(), of_x.left, of_x.right);
    if (step >= SQUARES) {
      let of_y = factors_of_y(step, i);
      sum = fq_accumulate(sum, of_y.left, of_y.right);
    }
    let value = fq_reduce(sum);
    if (step == 0u) { squares.first = value; }
    if (step == 1u) { squares.second = value; }
    // b = 4, and 4 + 4 u in Fq2.
    if (step >= SQUARES) { on_curve = on_curve && fq_is_zero(fq_plus_scaled(value, FQ_ONE, -4)); }
  }
  if (!on_curve) { atomicMin(&first_bad, params.first + i); }
}
