/**
 * Room for the first partitions of a large circuit, made ahead of them: a driver takes 20 to 32 ms to make a gibibyte, in which nothing
 * else can be submitted, and partitions begin with 16 of them.
 */
import { GpuOutOfMemoryError } from '../../errors.ts'
import { BufferSet } from '../buffer-set.ts'
import { Elements } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import { partitionBytes } from './assignment-bytes.ts'
import type { GpuShape } from './gpu-shape.ts'

/** What takes less is made within a few milliseconds. */
const WORTH_BYTES = 2 ** 28
/** One works, one gets ready. */
const PARTITIONS = 2

/**
 * Makes z, the rows and the quotient's third polynomial of as many partitions as work at once, as far as nothing else has to go for
 * them, and leaves them for these to find.
 * @throws {GpuDeviceLostError}
 */
export async function primeMemory(gpu: Gpu, { shape }: GpuShape): Promise<void> {
  const { inputs, aux, log2Domain, root } = shape
  const { bits, wide } = root.totals
  const size = { inputs, aux, log2Domain, bits, wide }
  const { quotientWithValues } = partitionBytes(size, gpu.bindingBytes)
  // What loading the circuit took and gave up goes back to the driver now.
  await gpu.returned()
  if (quotientWithValues < WORTH_BYTES || gpu.plannedBytes === Number.POSITIVE_INFINITY) return
  const set = new BufferSet(gpu)
  try {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      if (gpu.allocatedBytes + quotientWithValues > gpu.plannedBytes) return
      set.own(await Elements.allocate(gpu, inputs + aux, 'assignment'))
      for (const label of ['rows a', 'rows b', 'products on the domain'])
        set.own(await Elements.allocate(gpu, 2 ** log2Domain, label))
    }
  } catch (error) {
    // The driver knows better what there is; the first partition shows whether it suffices.
    if (!(error instanceof GpuOutOfMemoryError)) throw error
  } finally {
    set.release()
  }
}
