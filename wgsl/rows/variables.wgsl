// Values of a partition, z: public inputs, ONE first, then aux variables; plain integers, read by `z_load` and written
// by `z_store`. A template's table has the records of its instances, then its rows, terms and slots. A record has where
// the instance's rows, aux variables, inputs, bits and wide scalars begin, then its wires, all as places in z (rows,
// bits, wide: in their own lists).
@group(0) @binding(0) var<storage, read> table: array<u32>;

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

// A row of the template: where it stands after the instance's first row, how to evaluate it, its terms, what it
// defines.
struct Row { offset: u32, plan: u32, a: u32, b: u32, c: u32, end: u32, defines: u32 }
const ROW_WORDS = 8u;

fn row_at(at: u32) -> Row {
  return Row(table[at], table[at + 1u], table[at + 2u], table[at + 3u], table[at + 4u], table[at + 5u], table[at + 6u]);
}

// Place in z of a template's local variable, for the instance whose record starts at `record`.
fn place(variable: u32, record: u32) -> u32 {
  let number = variable & ~KIND;
  let kind = variable & KIND;
  if (kind == AUX) { return table[record + RECORD_AUX] + number; }
  if (kind == INPUT) { return table[record + RECORD_INPUTS] + number; }
  if (kind == ONE) { return 0u; }
  return table[record + RECORD_WIRES + number];
}
