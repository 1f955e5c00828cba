/** What fills z, checks and evaluates rows, as steps over the instances of each template that may be cut anywhere. */
import { DEFINES_NOTHING } from '../../circuit/shape.ts'
import type { Elements } from '../elements.ts'
import { FR_MULTIPLICATIONS, type Step } from '../step.ts'
import type { GpuShape, GpuTemplate } from './gpu-shape.ts'

/** Hashes of a workgroup of the Poseidon kernel. */
const HASHES_PER_WORKGROUP = 4
const POSEIDON_LANES = 16
const FULL_ROUNDS = 8

/** A compact witness on the device. */
export interface WitnessBuffers {
  readonly inputs: GPUBuffer
  readonly bits: GPUBuffer
  readonly wide: GPUBuffer
}

/** What the steps read and write: z, and rows where they are evaluated. */
export interface AssignBuffers extends WitnessBuffers {
  readonly z: Elements
  readonly a?: Elements
  readonly b?: Elements
  /** Where the lowest number of a row that does not hold goes. */
  readonly violated?: GPUBuffer
}

/** One kernel over instances of one template. */
export interface StepSource {
  readonly count: number
  /** Work of an instance, in additions of G1. */
  readonly workEach: number
  /** The dispatch for instances `first` up to `first + count` of them. */
  readonly step: (buffers: AssignBuffers, first: number, count: number) => Omit<Step, 'work'>
}

/** Work of all instances, in additions of points in G1. */
export const totalWork = (sources: readonly StepSource[]): number =>
  sources.reduce((sum, { count, workEach }) => sum + count * workEach, 0)

/** Bits and wide scalars to their places in z. */
export function scatterSteps({ templates, kernels }: GpuShape): StepSource[] {
  return templates
    .filter(({ slots }) => slots > 0)
    .map(({ table, instances, slots, layout: { recordWords, slotsAt } }) => ({
      count: instances,
      workEach: slots / FR_MULTIPLICATIONS,
      step: ({ bits, wide, z }, first, count) => ({
        kernel: kernels.scatter,
        buffers: [table, bits, wide, ...z.shards],
        params: [first, count, slots, recordWords, slotsAt],
        workgroups: Math.ceil((count * slots) / 64),
      }),
    }))
}

/** Derived variables, by rising depth. */
export function deriveSteps(shape: GpuShape): StepSource[] {
  return shape.deriving.map(({ template, first, count }) => {
    const { table, constants, layout } = template
    return constants === undefined
      ? deriveByRows(shape, template, first, count)
      : poseidonSteps(shape, template, { table, constants, recordWords: layout.recordWords }, first, count)
  })
}

function deriveByRows({ kernels, coefficients }: GpuShape, of: GpuTemplate, from: number, count: number): StepSource {
  const { matrix } = of.template
  const { recordWords, rowsAt, termsAt } = of.layout
  return {
    count,
    workEach: (3 * matrix.rows + matrix.termVariable.length) / FR_MULTIPLICATIONS,
    step: ({ z }, first, part) => ({
      kernel: kernels.derive,
      buffers: [of.table, coefficients, ...z.shards],
      params: [from + first, part, matrix.rows, recordWords, rowsAt, termsAt, 2],
      workgroups: Math.ceil(part / 64),
    }),
  }
}

function poseidonSteps(
  { kernels }: GpuShape,
  { template }: GpuTemplate,
  {
    table,
    constants,
    recordWords,
  }: { readonly table: GPUBuffer; readonly constants: GPUBuffer; readonly recordWords: number },
  from: number,
  count: number,
): StepSource {
  const width = template.wires + 1
  // 3 (8 t + R_P − 1) + 7 t + R_P + 1 variables, of which R_P follows.
  const partialRounds = (template.totals.aux - 31 * width + 2) / 4
  return {
    count,
    // Every lane multiplies as often as the busiest.
    workEach: (POSEIDON_LANES * (FULL_ROUNDS * (7 + width) + 5 * partialRounds)) / FR_MULTIPLICATIONS,
    step: ({ z }, first, part) => ({
      kernel: kernels.poseidon,
      buffers: [table, constants, ...z.shards],
      params: [from + first, part, recordWords, width, partialRounds, 2],
      workgroups: Math.ceil(part / HASHES_PER_WORKGROUP),
    }),
  }
}

/** Whether the rows hold that define no variable; no others could fail to. */
export function checkSteps({ templates, kernels, coefficients }: GpuShape): StepSource[] {
  return templates
    .filter(({ template }) => template.matrix.defines.includes(DEFINES_NOTHING))
    .map(({ template, table, instances, layout: { recordWords, rowsAt, termsAt } }) => {
      const { rows, termVariable } = template.matrix
      return {
        count: instances,
        workEach: (3 * rows + termVariable.length) / FR_MULTIPLICATIONS,
        step: ({ z, violated }, first, part) => ({
          kernel: kernels.checks,
          buffers: [table, coefficients, violated as GPUBuffer, ...z.shards],
          params: [first, part, rows, recordWords, rowsAt, termsAt, 2],
          workgroups: Math.ceil((part * rows) / 64),
        }),
      }
    })
}

/** A·z and B·z, shard after shard of the result. */
export function rowSteps({ templates, kernels, coefficients }: GpuShape): StepSource[] {
  return templates.flatMap(({ template, table, rowRanges, layout: { recordWords, rowsAt, termsAt } }) => {
    const { rows, termVariable } = template.matrix
    return rowRanges.map(({ shard, firstRow, rows: shardRows, first: from, count }) => ({
      count,
      workEach: (2 * rows + termVariable.length / 2) / FR_MULTIPLICATIONS,
      step: ({ z, a, b }: AssignBuffers, first: number, part: number) => ({
        kernel: kernels.rows,
        buffers: [table, coefficients, a?.shards[shard] as GPUBuffer, b?.shards[shard] as GPUBuffer, ...z.shards],
        params: [from + first, part, rows, recordWords, rowsAt, termsAt, firstRow, shardRows],
        workgroups: Math.ceil((part * rows) / 64),
      }),
    }))
  })
}
