/** Which scalars of a range are 0, 1, or wider: numbers of the ones and of the wide ones, as lists on the device. */
import type { Run } from '../../groth16/proving-device.ts'
import type { BufferSet } from '../buffer-set.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { UnitStream } from '../unit-stream.ts'
import type { Scalars } from './sort-entries.ts'

/** Lists scalars that are 1, and wider ones. */
export const SPLIT_KERNEL: Kernel = {
  name: 'split scalars',
  fields: [],
  parts: ['invocation.wgsl', 'msm/split-scalars.wgsl'],
  entry: 'split_scalars',
  bindings: ['read', 'read_write', 'read_write', 'read_write', 'uniform'],
}

/** Scalars of a workgroup. */
const BLOCK = 1024
/** Scalars of which looking at them costs as much as an addition. */
const SCALARS_PER_ADDITION = 32

/** Numbers of scalars, in no particular order. */
export interface NumberList {
  readonly numbers: GPUBuffer
  readonly count: number
}

/** Device memory for the lists of a range, rounding apart. */
export const splitBytes = (count: number): number => 8 * count

/**
 * @param set owns the lists
 * @param count scalars to look at, those from `scalars.first` on
 */
export async function splitScalars(
  gpu: Gpu,
  set: BufferSet,
  scalars: Scalars,
  count: number,
  run: Run,
): Promise<{ readonly ones: NumberList; readonly wides: NumberList }> {
  await gpu.prepare([SPLIT_KERNEL])
  const ones = await set.allocate(4 * count, 'numbers of ones')
  const wides = await set.allocate(4 * count, 'numbers of wide scalars')
  const totals = await set.allocate(8, 'ones and wide scalars')
  const stream = new UnitStream(gpu, 'split scalars', run, count / SCALARS_PER_ADDITION)
  stream.commands.clear(totals, 0, 8)
  for (let begin = 0; begin < count; ) {
    const end = Math.min(count, begin + Math.max(BLOCK, Math.ceil(stream.room * SCALARS_PER_ADDITION)))
    stream.commands.dispatch(SPLIT_KERNEL, {
      buffers: [scalars.buffer, ones, wides, totals],
      params: [scalars.first, begin, end],
      workgroups: Math.ceil((end - begin) / BLOCK),
    })
    await stream.recorded((end - begin) / SCALARS_PER_ADDITION)
    begin = end
  }
  // Submitted one behind the other, waited for together.
  const [, bytes] = await Promise.all([stream.finish(), gpu.download(totals, 0, 8)])
  const [oneCount, wideCount] = new Uint32Array(bytes.buffer, bytes.byteOffset, 2) as unknown as [number, number]
  return { ones: { numbers: ones, count: oneCount }, wides: { numbers: wides, count: wideCount } }
}
