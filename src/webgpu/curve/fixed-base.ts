/**
 * Multiples of one base for many scalars: the base's multiples d · 2^(8 k), d = 1 … 255, k = 0 … 31, are a table; each scalar's 32 table
 * points are added as a tree of pairs, 31 additions a scalar.
 */
import { decodeG1, decodeG2 } from '../../curve/encoding.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FQ, packMontgomery } from '../prelude/digit-field.ts'
import { BatchAffine, type Group, POINT_BYTES } from './batch-affine.ts'
import { EXPORT_KERNEL, recordExport } from './export-points.ts'

const ROWS = 32
const ROW = 255
/** Scalars of a unit: 2^17 additions in the first round. */
const UNIT = 2 ** 13

const tablePairs: Kernel = {
  name: 'table pairs',
  fields: [],
  parts: ['invocation.wgsl', 'curve/table-pairs.wgsl'],
  entry: 'table_pairs',
  bindings: ['read', 'read_write', 'uniform'],
}
const adjacentPairs: Kernel = {
  name: 'adjacent pairs',
  fields: [],
  parts: ['invocation.wgsl', 'curve/adjacent-pairs.wgsl'],
  entry: 'adjacent_pairs',
  bindings: ['read_write', 'uniform'],
}
interface Doubling<P> {
  add(other: P): P
  toAffine(): { x: unknown; y: unknown }
}

/** Packed table; the last point is infinity. */
function table(group: Group, base: Uint8Array): Uint32Array {
  const words = new Uint32Array(((ROWS * ROW + 1) * POINT_BYTES[group]) / 4)
  const fill = <P extends Doubling<P>>(point: P): void => {
    let start = point
    for (let row = 0; row < ROWS; row++) {
      let multiple = start
      for (let d = 0; d < ROW; d++) {
        const at = ((row * ROW + d) * POINT_BYTES[group]) / 4
        for (const [k, coordinate] of coordinates(multiple).entries())
          words.set(packMontgomery(coordinate, FQ), at + k * FQ.words)
        multiple = multiple.add(start)
      }
      start = multiple
    }
  }
  if (group === 'g1') fill(decodeG1(base, { subgroup: false }))
  else fill(decodeG2(base, { subgroup: false }))
  return words
}

function coordinates<P extends Doubling<P>>(point: P): bigint[] {
  const { x, y } = point.toAffine()
  return [x, y].flatMap((value) =>
    typeof value === 'bigint' ? [value] : [(value as { c0: bigint }).c0, (value as { c1: bigint }).c1],
  )
}

/**
 * @param base uncompressed big-endian, not infinity
 * @param scalars 32 bytes little-endian each, canonical
 * @param out one uncompressed big-endian point per scalar, infinity for 0
 */
export async function fixedBaseMultiples(
  gpu: Gpu,
  group: Group,
  base: Uint8Array,
  scalars: Uint8Array,
  out: Uint8Array,
  run: Run,
): Promise<void> {
  await gpu.prepare([tablePairs, adjacentPairs, EXPORT_KERNEL])
  const count = scalars.byteLength / 32
  const pointBytes = POINT_BYTES[group]
  const set = new BufferSet(gpu)
  try {
    const unit = Math.min(UNIT, Math.max(1, count))
    const firstRound = (unit * ROWS) / 2
    const adder = set.own(await BatchAffine.create(gpu, group, firstRound))
    const words = table(group, base)
    const points = await set.allocate(words.byteLength, 'table of multiples')
    await gpu.upload(points, 0, new Uint8Array(words.buffer))
    const scalarBuffer = await set.allocate(unit * 32, 'scalars')
    const pairs = await set.allocate(firstRound * 8, 'pairs')
    const sums = await set.allocate(firstRound * pointBytes, 'sums')
    const other = await set.allocate((firstRound / 2) * pointBytes, 'sums')
    const encoded = await set.allocate(unit * pointBytes, 'encoded points')
    for (let first = 0; first < count; first += unit) {
      run.signal.throwIfAborted()
      const size = Math.min(unit, count - first)
      await gpu.upload(scalarBuffer, 0, scalars.subarray(first * 32, (first + size) * 32))
      let additions = (size * ROWS) / 2
      const commands = gpu.commands('fixed-base multiples').dispatch(tablePairs, {
        buffers: [scalarBuffer, pairs],
        params: [size, 0],
        workgroups: Math.ceil(additions / 64),
      })
      adder.record(commands, { points, source: { kind: 'list', pairs }, sums }, 0, additions)
      let [from, to] = [sums, other]
      for (additions /= 2; additions >= size; additions /= 2) {
        commands.dispatch(adjacentPairs, {
          buffers: [pairs],
          params: [additions, 0, 0, 0],
          workgroups: Math.ceil(additions / 64),
        })
        adder.record(commands, { points: from, source: { kind: 'list', pairs }, sums: to }, 0, additions)
        ;[from, to] = [to, from]
      }
      recordExport(commands, group, from, encoded, size)
      await commands.submit()
      out.set(await gpu.download(encoded, 0, size * pointBytes), first * pointBytes)
      run.unit((first + size) / count)
    }
  } finally {
    set.release()
  }
}
