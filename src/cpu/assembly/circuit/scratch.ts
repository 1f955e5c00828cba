/** What every function of this module works in: a block of memory that belongs to one instance. */

/** Bytes of a limb record. */
export const LIMBS: usize = 40

// This instance's scratch. Globals of WebAssembly belong to an instance, not to the shared memory.
/** 18 columns. */
export let columns: usize = 0
/** Eight limb records: 0 of products, 1 to 3 of vectors, 4 and 5 of S-boxes, 6 and 7 of inversions and permutations. */
export let temporary: usize = 0
/** R² mod r, as limbs: one product with it takes a plain value to Montgomery form. */
export let squareOfR: usize = 0
/** What is left of the scratch block for functions above this file. */
export let scratchFree: usize = 0
export let scratchEnd: usize = 0

/** Gives this instance a block that no other thread uses, aligned to 16. To be called before anything else. */
export function bindScratch(scratch: usize, bytes: u32): void {
  if (bytes < 4096) unreachable()
  columns = scratch
  temporary = scratch + 160
  const square = scratch + 160 + 8 * LIMBS
  store<u32>(square, 0x0a71_b3c0, 0)
  store<u32>(square, 0x1d32_207e, 4)
  store<u32>(square, 0x1663_d999, 8)
  store<u32>(square, 0x1c5a_bc93, 12)
  store<u32>(square, 0x03b5_8c44, 16)
  store<u32>(square, 0x0be3_7438, 20)
  store<u32>(square, 0x0829_f771, 24)
  store<u32>(square, 0x1660_139e, 28)
  store<u32>(square, 0x0027_fd91, 32)
  store<u32>(square, 0, 36)
  squareOfR = square
  scratchFree = (square + LIMBS + 15) & ~15
  scratchEnd = scratch + bytes
}
