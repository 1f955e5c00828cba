// Values of a partition, z: public inputs, ONE first, then aux variables; plain integers. An instance's record has where its rows, aux
// variables, inputs, bits and wide scalars begin, then its wires, all as places in z (rows, bits, wide: in their own lists).
const RECORD_ROWS = 0u;
const RECORD_AUX = 1u;
const RECORD_INPUTS = 2u;
const RECORD_BITS = 3u;
const RECORD_WIDE = 4u;
const RECORD_WIRES = 5u;

const KIND = 0xc0000000u;
const AUX = 0x40000000u;
const INPUT = 0x80000000u;
const ONE = 0xc0000000u;

// Place in z of a template's local variable, for the instance whose record starts at `record`.
fn place(variable: u32, record: u32) -> u32 {
  let number = variable & ~KIND;
  let kind = variable & KIND;
  if (kind == AUX) { return records[record + RECORD_AUX] + number; }
  if (kind == INPUT) { return records[record + RECORD_INPUTS] + number; }
  if (kind == ONE) { return 0u; }
  return records[record + RECORD_WIRES + number];
}
