// Bits and wide scalars of the compact witness to their places in z; one thread a variable of an instance. A slot names the variable and
// its number among the template's bits (top bit set) or wide scalars.
struct ScatterParams { instances: u32, slots: u32, record_words: u32, first_slot: u32 }

@group(0) @binding(0) var<storage, read_write> z: array<FRPacked>;
@group(0) @binding(1) var<storage, read> records: array<u32>;
@group(0) @binding(2) var<storage, read> slots: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> bits: array<u32>;
@group(0) @binding(4) var<storage, read> wide: array<FRPacked>;
@group(0) @binding(5) var<uniform> params: ScatterParams;

const BIT = 0x80000000u;

@compute @workgroup_size(64)
fn scatter(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let i = workgroup_number(group, groups) * 64u + local;
  if (i >= params.instances * params.slots) { return; }
  let slot = slots[params.first_slot + i % params.slots];
  let record = (i / params.slots) * params.record_words;
  let at = records[record + RECORD_AUX] + slot.x;
  if ((slot.y & BIT) != 0u) {
    let bit = records[record + RECORD_BITS] + (slot.y & ~BIT);
    let value = (bits[bit >> 5u] >> (bit & 31u)) & 1u;
    z[at] = FRPacked(vec4(value, 0u, 0u, 0u), vec4<u32>());
  } else {
    z[at] = wide[records[record + RECORD_WIDE] + slot.y];
  }
}
