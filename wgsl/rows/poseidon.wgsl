// All aux variables of Poseidon permutations in the order of the circuit: per S-box the combination x it reads (not in
// the first round, whose elements are wires), x², x⁴ and x⁵ + key; at the end the output.
//
// 16 lanes a hash, four hashes a workgroup. Lane i keeps element i of the state, in Montgomery form. A full round: lane
// i computes its S-box, then column i of the matrix product. A partial round: lane 0 computes the only S-box; for the
// sparse matrix lane j adds v_j · s_0 to its element, and ŵ_j · s_j are summed by lane 0; meanwhile the last four
// lanes, which no arity here uses, bring what lane 0 computed into plain form. So a partial round is five
// multiplications deep instead of nine.
struct PoseidonParams { first: u32, instances: u32, record_words: u32, width: u32, partial_rounds: u32, two: u32 }

@group(0) @binding(1) var<storage, read> constants: array<FRPacked>;

const LANES = 16u;
const WRITERS = 12u;
var<workgroup> state: array<FR, 64>;
var<workgroup> terms: array<FR, 64>;

// The chain x, x², x⁴, x⁵ + key of an S-box.
struct Power { x: FR, square: FR, fourth: FR, fifth: FR }

fn s_box(x: FR, key: FR) -> Power {
  var square = x;
  var fourth = x;
  var fifth = x;
  for (var step = 0u; step < params.two + 1u; step++) {
    var left = x;
    var right = x;
    if (step == 1u) { left = square; right = square; }
    if (step == 2u) { right = fourth; }
    let product = fr_mul(left, right);
    if (step == 0u) { square = product; }
    if (step == 1u) { fourth = product; }
    if (step == 2u) { fifth = product; }
  }
  return Power(x, square, fourth, fr_light(fr_add(fifth, key)));
}

fn key_at(k: u32) -> FR { return fr_unpack(constants[k]); }

@compute @workgroup_size(64)
fn poseidon(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let lane = local % LANES;
  let hash = workgroup_number(group, groups) * 4u + local / LANES;
  let base = local - lane;
  let live = hash < params.instances;
  // Lanes past the last hash run along, for the barriers, on the last one's values; they write nothing.
  let record = (params.first + min(hash, params.instances - 1u)) * params.record_words;
  let width = params.width;
  let aux = table[record + RECORD_AUX];
  let rounds = 8u + params.partial_rounds;
  let matrices = width + 7u * width - 1u + params.partial_rounds;
  // Where the next round's variables and keys stand.
  var next = aux;
  var keys = width;

  var element = fr_unpack(constants[0]);
  if (lane > 0u && lane < width) {
    element = fr_mul(fr_from_plain(z_load(table[record + RECORD_WIRES + lane - 1u])), FR_R2);
  }
  for (var round = 0u; round < rounds; round++) {
    let full = round < 4u || round >= 4u + params.partial_rounds;
    let first = round == 0u;
    let last = round == rounds - 1u;
    // S-boxes.
    let boxed = select(lane == 0u, lane < width && !(first && lane == 0u), full);
    var power = Power(element, element, element, element);
    if (boxed) {
      var x = element;
      if (first) { x = fr_light(fr_add(x, key_at(lane))); }
      var key = FR_ZERO;
      if (!last) { key = key_at(keys + select(0u, lane - u32(first), full)); }
      power = s_box(x, key);
      element = fr_tidy(power.fifth);
    }
    state[local] = element;
    // Plain values: in a full round each lane its own, in a partial round by the writers.
    if (!full && lane == 0u) {
      terms[base + WRITERS] = power.x;
      terms[base + WRITERS + 1u] = power.square;
      terms[base + WRITERS + 2u] = power.fourth;
      terms[base + WRITERS + 3u] = power.fifth;
    }
    workgroupBarrier();
    let per_box = select(4u, 3u, first);
    if (full && boxed) {
      let at = next + (lane - u32(first)) * per_box;
      for (var k = u32(first); k < 4u; k++) {
        var value = power.x;
        if (k == 1u) { value = power.square; }
        if (k == 2u) { value = power.fourth; }
        if (k == 3u) { value = power.fifth; }
        let plain = fr_to_plain(fr_mul(value, FR_PLAIN_ONE));
        if (live) { z_store(at + k - u32(first), plain); }
      }
    }
    // Mixing.
    let sparse = !full;
    if (sparse) {
      let matrix = matrices + 2u * width * width + (round - 4u) * (2u * width - 1u);
      let writer = lane >= WRITERS;
      // Steps over one body: ŵ_j s_j (or the plain form), then s_j + v_j s_0.
      for (var step = 0u; step < params.two; step++) {
        var left = state[local];
        var right = FR_PLAIN_ONE;
        if (writer) { left = terms[local]; }
        else if (step == 0u) { right = key_at(matrix + min(lane, width - 1u)); }
        else { left = state[base]; right = key_at(matrix + width + min(max(lane, 1u), width - 1u) - 1u); }
        if (writer && step == 1u) { break; }
        let product = fr_mul(left, right);
        if (writer) {
          let plain = fr_to_plain(product);
          if (live) { z_store(next + lane - WRITERS, plain); }
        } else if (step == 0u) {
          terms[local] = product;
        } else if (lane > 0u && lane < width) {
          element = fr_tidy(fr_add(element, product));
        }
      }
      workgroupBarrier();
      if (lane == 0u) {
        var sum = terms[base];
        for (var j = 1u; j < width; j++) { sum = fr_add(sum, terms[base + j]); }
        element = fr_tidy(sum);
      }
    } else if (lane < width) {
      let matrix = matrices + select(0u, width * width, round == 3u) + lane * width;
      var sum = FR_ZERO;
      for (var i = 0u; i < width; i++) { sum = fr_add(sum, fr_mul(state[base + i], key_at(matrix + i))); }
      element = fr_tidy(sum);
    }
    workgroupBarrier();
    if (full) {
      next += per_box * (width - u32(first));
      keys += width - u32(first);
    } else {
      next += 4u;
      keys += 1u;
    }
  }
  // The output is element 1.
  if (lane == 1u) {
    let plain = fr_to_plain(fr_mul(element, FR_PLAIN_ONE));
    if (live) { z_store(next, plain); }
  }
}
