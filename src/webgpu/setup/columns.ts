/**
 * Columns of the constraints at τ: u_v = Σ_j A[j, v] L_j, v_v likewise of B, and β u + α v + (that of C), for every
 * variable, as plain elements on the device. Inputs come first, ONE the first of them, then aux variables.
 */
import type { CircuitShape } from '../../circuit/shape.ts'
import type { Run } from '../../groth16/proving-device.ts'
import { portion } from '../../groth16/run-portion.ts'
import type { ToxicWaste } from '../../params/toxic-waste.ts'
import { BufferSet } from '../buffer-set.ts'
import { Elements } from '../elements.ts'
import { forget } from '../forget.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR, packMontgomeryAll } from '../prelude/digit-field.ts'
import { UnitStream } from '../unit-stream.ts'
import { ConstantBuffer } from './geometric.ts'
import { computeLagrange, LAGRANGE_KERNELS, lagrangeWork } from './lagrange.ts'
import { INSTANCE_WORDS, type SetupInstances, setupInstances } from './setup-instances.ts'
import { BASE, type SidePlan, type Stage, transposePlan } from './transposed-terms.ts'

/** Terms that cost as much as an addition of points. */
const TERMS_PER_WORK = 4

const accumulateKernel = (name: string, source: string, bindings: Kernel['bindings']): Kernel => ({
  name,
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'setup/accumulate.wgsl', `setup/${source}.wgsl`],
  entry: 'accumulate',
  bindings,
})
const apartKernel = accumulateKernel('accumulate', 'source-apart', [
  'read',
  'read',
  'read',
  'read',
  'read',
  'read_write',
  'uniform',
])
const withinKernel = accumulateKernel('accumulate within', 'source-within', [
  'read',
  'read',
  'read',
  'read',
  'read_write',
  'uniform',
])
const combineKernel: Kernel = {
  name: 'combine columns',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'setup/combine.wgsl'],
  entry: 'combine',
  bindings: ['read', 'read', 'read', 'read_write', 'uniform'],
}

/** What columns dispatch. */
export const COLUMN_KERNELS: readonly Kernel[] = [...LAGRANGE_KERNELS, apartKernel, withinKernel, combineKernel]

/** Columns of all variables at τ, plain. Secret as τ is. */
export interface Columns {
  readonly u: Elements
  readonly v: Elements
  /** β u + α v + w */
  readonly combined: Elements
  release(): void
}

/**
 * @param toxic τ is not in the domain
 * @throws {GpuOutOfMemoryError} nothing is kept then
 * @throws `run.signal.reason` once the signal aborts
 */
export async function computeColumns(gpu: Gpu, shape: CircuitShape, toxic: ToxicWaste, run: Run): Promise<Columns> {
  await gpu.prepare(COLUMN_KERNELS)
  const { inputs, aux, constraints } = shape
  const plan = transposePlan(shape.root, inputs, constraints)
  const instances = setupInstances(plan, inputs)
  run.signal.throwIfAborted()
  const columns = new BufferSet(gpu)
  const work = new BufferSet(gpu)
  try {
    const sums: Elements[] = []
    for (const name of ['u', 'v', 'w']) {
      const sum = await Elements.allocate(gpu, inputs + aux, `column ${name}`)
      columns.own(secret(gpu, sum))
      sums.push(sum)
    }
    const [u, v, combined] = sums as [Elements, Elements, Elements]
    const rows = await Elements.allocate(gpu, constraints + inputs, 'Lagrange values')
    work.own(secret(gpu, rows))
    const slotCount = plan.places.get(shape.root)?.slots ?? 0
    const slots = await Elements.allocate(gpu, slotCount, 'partial sums')
    work.own(secret(gpu, slots))
    const upload = async (words: Uint32Array, label: string): Promise<GPUBuffer> => {
      const buffer = await work.allocate(Math.max(16, words.byteLength), label)
      await gpu.upload(buffer, 0, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
      return buffer
    }
    const vectors: Vectors = {
      rows,
      slots,
      instances,
      instanceWords: await upload(instances.words, 'instances'),
      coefficients: await upload(packMontgomeryAll(shape.coefficients, FR), 'coefficients'),
    }
    const sides: { plan: SidePlan; work: number; outputs: GPUBuffer; terms: GPUBuffer }[] = []
    for (const side of plan.sides) {
      sides.push({
        plan: side,
        work: sideWork(side, instances),
        outputs: await upload(side.outputs, 'outputs'),
        terms: await upload(side.terms, 'terms'),
      })
    }
    const total = lagrangeWork(rows.count) + sides.reduce((sum, side) => sum + side.work, 0) + combineWork(u)
    const lagrange = new UnitStream(
      gpu,
      'Lagrange values',
      portion(run, 0, lagrangeWork(rows.count) / total),
      rows.count,
    )
    await computeLagrange(gpu, lagrange, rows, shape.log2Domain, toxic.tau)
    let done = lagrangeWork(rows.count)
    for (const [k, side] of sides.entries()) {
      const stream = new UnitStream(gpu, 'columns', portion(run, done / total, (done + side.work) / total), side.work)
      const target = sums[k] as Elements
      for (const elements of [target, slots]) elements.recordClear(stream.commands, 0, elements.count)
      for (const stage of side.plan.stages) await recordStage(stream, vectors, side, stage, target)
      await stream.finish()
      done += side.work
    }
    await combine(gpu, toxic, [u, v, combined], portion(run, done / total, 1))
    return { u, v, combined, release: () => columns.release() }
  } catch (error) {
    columns.release()
    throw error
  } finally {
    work.release()
  }
}

interface Vectors {
  readonly rows: Elements
  readonly slots: Elements
  readonly instances: SetupInstances
  readonly instanceWords: GPUBuffer
  readonly coefficients: GPUBuffer
}

const instanceWork = ({ terms, outputs }: Stage): number => (terms + outputs) / TERMS_PER_WORK

const sideWork = ({ stages }: SidePlan, { ranges }: SetupInstances): number =>
  stages.reduce((sum, stage) => sum + instanceWork(stage) * (ranges.get(stage.template)?.count ?? 0), 0)

/** Records a stage for all instances of its template, window by window of what it reads and writes. */
async function recordStage(
  stream: UnitStream,
  { rows, slots, instances, instanceWords, coefficients }: Vectors,
  { outputs, terms }: { readonly outputs: GPUBuffer; readonly terms: GPUBuffer },
  stage: Stage,
  sums: Elements,
): Promise<void> {
  const source = stage.source === BASE.rows ? rows : slots
  const target = stage.target === BASE.slots ? slots : sums
  const range = instances.ranges.get(stage.template) ?? { first: 0, count: 0 }
  /** Instances, counted from the range's first, that a window of a vector may concern. */
  const touching = (base: number, [least, greatest]: readonly [number, number], from: number, to: number) => {
    if (base === BASE.none) return greatest >= from && least < to ? [0, range.count] : [0, 0]
    const word = (k: number): number => instances.words[(range.first + k) * INSTANCE_WORDS + base] as number
    return [
      firstWhere(range.count, (k) => word(k) + greatest >= from),
      firstWhere(range.count, (k) => word(k) + least >= to),
    ]
  }
  for (const [s, sourceShard] of source.shards.entries()) {
    const sourceFirst = s * 2 ** source.shardLog2
    const [readFrom, readTo] = touching(stage.source, stage.sources, sourceFirst, sourceFirst + source.shardCount(s))
    for (const [t, targetShard] of target.shards.entries()) {
      const targetFirst = t * 2 ** target.shardLog2
      const window = target.shardCount(t)
      const [writeFrom, writeTo] = touching(stage.target, stage.targets, targetFirst, targetFirst + window)
      const to = Math.min(readTo as number, writeTo as number)
      const same = sourceShard === targetShard
      for (let first = Math.max(readFrom as number, writeFrom as number); first < to; ) {
        const count = Math.min(to - first, Math.max(1, Math.floor(stream.room / instanceWork(stage))))
        const sources = same ? [] : [sourceShard]
        stream.commands.dispatch(same ? withinKernel : apartKernel, {
          buffers: [instanceWords, outputs, terms, coefficients, ...sources, targetShard],
          params: [
            range.first + first,
            count,
            stage.firstOutput,
            stage.outputs,
            stage.source,
            stage.target,
            sourceFirst,
            source.shardCount(s),
            targetFirst,
            window,
          ],
          workgroups: Math.ceil((count * stage.outputs) / 64),
        })
        first += count
        await stream.recorded(count * instanceWork(stage))
      }
    }
  }
}

/** The first number below `count` for which a predicate that stays true holds; `count` if none. */
function firstWhere(count: number, holds: (k: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

const combineWork = ({ count }: Elements): number => count / TERMS_PER_WORK

async function combine(
  gpu: Gpu,
  { alpha, beta }: ToxicWaste,
  [u, v, w]: readonly [Elements, Elements, Elements],
  run: Run,
): Promise<void> {
  const stream = new UnitStream(gpu, 'combine columns', run, combineWork(w))
  const constants = await ConstantBuffer.create(gpu, 'α and β', [{ value: beta }, { value: alpha }])
  try {
    for (const [k, shard] of w.shards.entries()) {
      const count = w.shardCount(k)
      stream.commands.dispatch(combineKernel, {
        buffers: [constants.buffer, u.shards[k] as GPUBuffer, v.shards[k] as GPUBuffer, shard],
        params: [count, 2],
        workgroups: Math.ceil(count / 64),
      })
      await stream.recorded(count / TERMS_PER_WORK)
    }
    await stream.finish()
  } finally {
    constants.release()
  }
}

/** Whoever knows these knows τ. */
const secret = (gpu: Gpu, { shards }: Elements): { release(): void } => ({ release: () => forget(gpu, ...shards) })
