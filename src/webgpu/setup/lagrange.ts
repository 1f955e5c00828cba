/**
 * The Lagrange polynomials of the domain at τ, for the first rows: L_j(τ) = Z/m · ω^j / (τ − ω^j) with Z = τ^m − 1.
 * About eight multiplications a row, straight from the formula: no transform, so that any size goes shard by shard.
 */
import { rootOfUnity } from '../../cpu/ntt/domain.ts'
import { frInv, frMul, frPow, frReduce } from '../../field/fr.ts'
import { Elements } from '../elements.ts'
import { forget } from '../forget.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR } from '../prelude/digit-field.ts'
import { inversionBatches, inversionWgsl } from '../prelude/inversion-wgsl.ts'
import type { UnitStream } from '../unit-stream.ts'
import { ConstantBuffer, squaresOf } from './geometric.ts'

/** An inversion costs as much as some 35 multiplications. */
export const ROWS_PER_THREAD = 64
/** Work of a row, in additions of points. */
const ROW_WORK = 1

const kernel = (entry: string): Kernel => ({
  name: entry.replace('_', ' '),
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'setup/base-power.wgsl', 'setup/lagrange.wgsl'],
  entry,
  bindings: ['read', 'read_write', 'read_write', 'uniform'],
})
const productsKernel = kernel('lagrange_products')
const valuesKernel = kernel('lagrange_values')
const invertKernel: Kernel = {
  name: 'invert totals',
  fields: [{ field: FR }],
  generated: inversionWgsl(FR),
  parts: ['invocation.wgsl', 'setup/invert-totals.wgsl'],
  entry: 'invert_totals',
  bindings: ['read', 'read_write', 'uniform'],
}

/** What Lagrange values dispatch. */
export const LAGRANGE_KERNELS: readonly Kernel[] = [productsKernel, valuesKernel, invertKernel]

/** Work of {@link computeLagrange}, in additions of points. */
export const lagrangeWork = (rows: number): number => rows * ROW_WORK

/**
 * Records the values of all `values.count` rows, plain, and waits for them.
 * @param tau not in the domain
 */
export async function computeLagrange(
  gpu: Gpu,
  stream: UnitStream,
  values: Elements,
  log2Domain: number,
  tau: bigint,
): Promise<void> {
  const root = rootOfUnity(log2Domain)
  const threads = Math.ceil(values.shardCount(0) / ROWS_PER_THREAD)
  const step = frPow(root, BigInt(threads))
  const m = 1n << BigInt(log2Domain)
  const scale = frMul(frReduce(frPow(tau, m) - 1n), frInv(m))
  const constants = await ConstantBuffer.create(gpu, 'constants of Lagrange values', [
    { value: tau },
    { value: step },
    { value: frInv(step) },
    { value: scale, plain: true },
    ...squaresOf(root, log2Domain),
  ])
  try {
    const totals = await Elements.allocate(gpu, threads, 'totals')
    try {
      const total = totals.shards[0] as GPUBuffer
      const workgroups = Math.ceil(threads / 64)
      for (const [k, shard] of values.shards.entries()) {
        const count = values.shardCount(k)
        const params = [k * 2 ** values.shardLog2, count, threads, log2Domain, 2]
        const buffers = [constants.buffer, shard, total]
        stream.commands
          .dispatch(productsKernel, { buffers, params, workgroups })
          .dispatch(invertKernel, {
            buffers: [constants.buffer, total],
            params: [threads, inversionBatches(FR)],
            workgroups,
          })
          .dispatch(valuesKernel, { buffers, params, workgroups })
        await stream.recorded(lagrangeWork(count))
      }
      await stream.finish()
    } finally {
      forget(gpu, ...totals.shards)
    }
  } finally {
    constants.release()
  }
}
