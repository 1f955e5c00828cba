/**
 * A circuit's shape on the device: a table a template, coefficients, Poseidon constants, the density of the queries,
 * the domain.
 */
import type { CircuitShape, Template } from '../../circuit/shape.ts'
import { poseidonTableScalars } from '../../cpu/circuit-machine/poseidon-table.ts'
import type { DeviceShape } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import { layoutOf } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import { QuotientDomain } from '../ntt/quotient.ts'
import { FR, packMontgomeryAll } from '../prelude/digit-field.ts'
import { DenseValues } from './dense-values.ts'
import { shapeInstances } from './instances.ts'
import { type RowKernels, rowKernels } from './row-kernels.ts'
import { type RowRange, rowRanges } from './row-ranges.ts'
import { rowWords, type TableLayout, tableLayout, termWords } from './template-parts.ts'

/** A template's instances on the device. */
export interface GpuTemplate {
  readonly template: Template
  readonly instances: number
  readonly layout: TableLayout
  /** Bits and wide scalars of an instance. */
  readonly slots: number
  readonly table: GPUBuffer
  /** Of a Poseidon permutation. */
  readonly constants: GPUBuffer | undefined
  /** Which instances have rows in which shard of a and b. */
  readonly rowRanges: readonly RowRange[]
}

/** Instances that can derive their variables once those of lower depth are known. */
export interface DeriveBatch {
  readonly template: GpuTemplate
  readonly depth: number
  readonly first: number
  readonly count: number
}

interface LoadedShape {
  readonly templates: readonly GpuTemplate[]
  readonly deriving: readonly DeriveBatch[]
  readonly coefficients: GPUBuffer
  readonly domain: QuotientDomain
  readonly a: DenseValues
  readonly b: DenseValues
  readonly kernels: RowKernels
}

/** What all partitions of a circuit share on the device. */
export class GpuShape implements DeviceShape {
  readonly shape: CircuitShape
  readonly templates: readonly GpuTemplate[]
  /** By rising depth. */
  readonly deriving: readonly DeriveBatch[]
  readonly coefficients: GPUBuffer
  readonly domain: QuotientDomain
  /** Scalars of the queries a and b. */
  readonly a: DenseValues
  readonly b: DenseValues
  readonly kernels: RowKernels
  readonly #set: BufferSet

  private constructor(shape: CircuitShape, loaded: LoadedShape, set: BufferSet) {
    this.shape = shape
    this.templates = loaded.templates
    this.deriving = loaded.deriving
    this.coefficients = loaded.coefficients
    this.domain = loaded.domain
    this.a = loaded.a
    this.b = loaded.b
    this.kernels = loaded.kernels
    this.#set = set
  }

  static async load(gpu: Gpu, shape: CircuitShape): Promise<GpuShape> {
    const { inputs, aux, density, log2Domain } = shape
    const kernels = rowKernels(layoutOf(gpu, inputs + aux))
    await gpu.prepare(Object.values(kernels))
    const rowLayout = layoutOf(gpu, 2 ** log2Domain)
    const set = new BufferSet(gpu)
    try {
      const upload = async (parts: readonly Uint32Array[], label: string): Promise<GPUBuffer> => {
        const buffer = await set.allocate(4 * parts.reduce((sum, { length }) => sum + length, 0), label)
        let at = 0
        for (const words of parts) {
          await gpu.upload(buffer, at, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
          at += words.byteLength
        }
        return buffer
      }
      const templates: GpuTemplate[] = []
      const deriving: DeriveBatch[] = []
      for (const instances of shapeInstances(shape)) {
        const { template, own, records, batches, early } = instances
        const { name, poseidon } = template
        const table = await upload(
          [records, rowWords(template), termWords(template, shape.coefficients), own.slots],
          `${name} table`,
        )
        const constants =
          poseidon === undefined
            ? undefined
            : await upload(
                [packMontgomeryAll(poseidonTableScalars(poseidon.arity, poseidon.domainTag), FR)],
                `${name} constants`,
              )
        const loaded: GpuTemplate = {
          template,
          instances: instances.instances,
          layout: tableLayout(template, instances.instances),
          slots: own.slots.length / 2,
          table,
          constants,
          rowRanges: rowRanges(instances, rowLayout, 2 ** log2Domain),
        }
        templates.push(loaded)
        if (own.derives) deriving.push(...[...early, ...batches].map((batch) => ({ ...batch, template: loaded })))
      }
      deriving.sort((a, b) => a.depth - b.depth)
      const loaded: LoadedShape = {
        templates,
        deriving,
        coefficients: await upload([packMontgomeryAll(shape.coefficients, FR)], 'coefficients'),
        domain: set.own(await QuotientDomain.create(gpu, log2Domain)),
        a: set.own(await DenseValues.load(gpu, density.aAux, { inputs, firstAux: inputs, count: aux }, 'a')),
        // Of the inputs only ONE occurs in B.
        b: set.own(await DenseValues.load(gpu, density.bAux, { inputs: 1, firstAux: inputs, count: aux }, 'b')),
        kernels,
      }
      return new GpuShape(shape, loaded, set)
    } catch (error) {
      set.release()
      throw error
    }
  }

  release(): void {
    this.#set.release()
  }
}
