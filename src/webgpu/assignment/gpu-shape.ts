/** A circuit's shape on the device: instance records, rows and terms of its templates, coefficients, Poseidon tables, query places. */
import type { BitArray, CircuitShape, Template } from '../../circuit/shape.ts'
import { poseidonTableScalars } from '../../cpu/circuit-machine/poseidon-table.ts'
import type { DeviceShape } from '../../groth16/proving-device.ts'
import { BufferSet } from '../buffer-set.ts'
import type { Gpu } from '../gpu.ts'
import { QuotientDomain } from '../ntt/quotient.ts'
import { FR, packMontgomery } from '../prelude/digit-field.ts'
import { type Batch, shapeInstances, type TemplateData } from './instances.ts'
import { ROW_KERNELS } from './row-kernels.ts'

/** A template's data in buffers. */
export interface TemplateBuffers {
  readonly data: TemplateData
  readonly records: GPUBuffer
  readonly rows: GPUBuffer
  readonly terms: GPUBuffer
  readonly slots: GPUBuffer
}

export class GpuShape implements DeviceShape {
  readonly shape: CircuitShape
  readonly templates: readonly TemplateBuffers[]
  readonly deriving: readonly Batch[]
  readonly coefficients: GPUBuffer
  readonly domain: QuotientDomain
  /** Places in z of the scalars of query a, and of b. */
  readonly aPlaces: GPUBuffer
  readonly bPlaces: GPUBuffer
  readonly #tables: ReadonlyMap<Template, GPUBuffer>
  readonly #set: BufferSet

  private constructor(fields: {
    shape: CircuitShape
    templates: readonly TemplateBuffers[]
    deriving: readonly Batch[]
    coefficients: GPUBuffer
    domain: QuotientDomain
    aPlaces: GPUBuffer
    bPlaces: GPUBuffer
    tables: ReadonlyMap<Template, GPUBuffer>
    set: BufferSet
  }) {
    this.shape = fields.shape
    this.templates = fields.templates
    this.deriving = fields.deriving
    this.coefficients = fields.coefficients
    this.domain = fields.domain
    this.aPlaces = fields.aPlaces
    this.bPlaces = fields.bPlaces
    this.#tables = fields.tables
    this.#set = fields.set
  }

  static async load(gpu: Gpu, shape: CircuitShape): Promise<GpuShape> {
    await gpu.prepare(ROW_KERNELS)
    const set = new BufferSet(gpu)
    try {
      const upload = async (words: Uint32Array, label: string): Promise<GPUBuffer> => {
        const buffer = await set.allocate(Math.max(16, words.byteLength), label)
        await gpu.upload(buffer, 0, new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
        return buffer
      }
      const { templates: data, deriving } = shapeInstances(shape)
      const templates: TemplateBuffers[] = []
      const tables = new Map<Template, GPUBuffer>()
      for (const template of data) {
        const { name, poseidon } = template.template
        templates.push({
          data: template,
          records: await upload(template.records, `${name} instances`),
          rows: await upload(template.rows, `${name} rows`),
          terms: await upload(template.terms, `${name} terms`),
          slots: await upload(template.slots, `${name} slots`),
        })
        if (poseidon !== undefined) {
          const scalars = poseidonTableScalars(poseidon.arity, poseidon.domainTag)
          tables.set(template.template, await upload(packAll(scalars), `${name} constants`))
        }
      }
      const coefficients = await upload(packAll(shape.coefficients), 'coefficients')
      const domain = set.own(await QuotientDomain.create(gpu, shape.log2Domain))
      const inputs = Array.from({ length: shape.inputs }, (_, i) => i)
      const aPlaces = await upload(
        places(inputs, shape.density.aAux, shape.density.aAuxCount, shape.inputs),
        'places of a',
      )
      const bPlaces = await upload(
        places([0], shape.density.bAux, shape.density.bAuxCount, shape.inputs),
        'places of b',
      )
      return new GpuShape({ shape, templates, deriving, coefficients, domain, aPlaces, bPlaces, tables, set })
    } catch (error) {
      set.release()
      throw error
    }
  }

  poseidonTable(template: Template): GPUBuffer | undefined {
    return this.#tables.get(template)
  }

  buffersOf(data: TemplateData): TemplateBuffers {
    return this.templates.find((template) => template.data === data) as TemplateBuffers
  }

  release(): void {
    this.#set.release()
  }
}

function packAll(values: readonly bigint[]): Uint32Array {
  const words = new Uint32Array(values.length * FR.words)
  for (const [i, value] of values.entries()) words.set(packMontgomery(value, FR), i * FR.words)
  return words
}

/** The inputs' places, then those of the aux variables whose bit is set. */
function places(inputs: readonly number[], dense: BitArray, count: number, firstAux: number): Uint32Array {
  const result = new Uint32Array(inputs.length + count)
  result.set(inputs)
  let at = inputs.length
  for (const [byte, bits] of dense.entries()) {
    for (let rest = bits; rest !== 0; rest &= rest - 1) {
      result[at++] = firstAux + 8 * byte + 31 - Math.clz32(rest & -rest)
    }
  }
  return result
}
