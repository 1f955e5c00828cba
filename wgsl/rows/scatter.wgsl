// Bits and wide scalars of the compact witness to their places in z; one thread a variable of an instance. A slot names
// the variable and its number among the template's bits (top bit set) or wide scalars.
struct ScatterParams { first: u32, instances: u32, slots: u32, record_words: u32, slots_at: u32 }

@group(0) @binding(1) var<storage, read> bits: array<u32>;
@group(0) @binding(2) var<storage, read> wide: array<FRPacked>;

const BIT = 0x80000000u;

@compute @workgroup_size(64)
fn scatter(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.instances * params.slots) { return; }
  let slot = params.slots_at + 2u * (i % params.slots);
  let number = table[slot + 1u];
  let record = (params.first + i / params.slots) * params.record_words;
  let at = table[record + RECORD_AUX] + table[slot];
  if ((number & BIT) != 0u) {
    let bit = table[record + RECORD_BITS] + (number & ~BIT);
    let value = (bits[bit >> 5u] >> (bit & 31u)) & 1u;
    z_store(at, FRPacked(vec4(value, 0u, 0u, 0u), vec4<u32>()));
  } else {
    z_store(at, wide[table[record + RECORD_WIDE] + number]);
  }
}
