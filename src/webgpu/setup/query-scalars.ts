/** The scalars of a query's range, on the device: what the generator is multiplied with to give its points. */
import type { BitArray, CircuitShape } from '../../circuit/shape.ts'
import { frInv, frMul, frPow, frReduce } from '../../field/fr.ts'
import type { Query } from '../../params/layout.ts'
import type { ToxicWaste } from '../../params/toxic-waste.ts'
import { BufferSet } from '../buffer-set.ts'
import { ELEMENT_BYTES, type Elements } from '../elements.ts'
import type { Gpu } from '../gpu.ts'
import type { Kernel } from '../kernel.ts'
import { FR } from '../prelude/digit-field.ts'
import type { Columns } from './columns.ts'
import { ConstantBuffer, squaresOf } from './geometric.ts'

const POWERS_PER_THREAD = 16

const scaleKernel: Kernel = {
  name: 'scale',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'setup/scale.wgsl'],
  entry: 'scale',
  bindings: ['read', 'read', 'read_write', 'uniform'],
}
const pickKernel: Kernel = {
  name: 'pick',
  fields: [{ field: FR, multiplication: false }],
  parts: ['invocation.wgsl', 'setup/pick.wgsl'],
  entry: 'pick',
  bindings: ['read', 'read', 'read_write', 'uniform'],
}
const powersKernel: Kernel = {
  name: 'plain powers',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'setup/base-power.wgsl', 'setup/powers.wgsl'],
  entry: 'powers',
  bindings: ['read', 'read_write', 'uniform'],
}
const findZeroKernel: Kernel = {
  name: 'find zero',
  fields: [{ field: FR, multiplication: false }],
  parts: ['invocation.wgsl', 'setup/find-zero.wgsl'],
  entry: 'find_zero',
  bindings: ['read', 'read_write', 'uniform'],
}

export const QUERY_SCALAR_KERNELS: readonly Kernel[] = [scaleKernel, pickKernel, powersKernel, findZeroKernel]

export class QueryScalars {
  readonly #gpu: Gpu
  readonly #shape: CircuitShape
  readonly #toxic: ToxicWaste
  readonly #columns: Columns
  readonly #zOverDelta: bigint
  /** Which variables have a point in a, and in b. */
  readonly #dense: Readonly<Record<'a' | 'b', DensePlaces>>

  /** @param columns stay the caller's */
  constructor(gpu: Gpu, shape: CircuitShape, toxic: ToxicWaste, columns: Columns) {
    this.#gpu = gpu
    this.#shape = shape
    this.#toxic = toxic
    this.#columns = columns
    const z = frReduce(frPow(toxic.tau, 1n << BigInt(shape.log2Domain)) - 1n)
    this.#zOverDelta = frMul(z, frInv(toxic.delta))
    const { inputs, density } = shape
    this.#dense = { a: new DensePlaces(inputs, inputs, density.aAux), b: new DensePlaces(1, inputs, density.bAux) }
  }

  /**
   * Writes the scalars of the points `first` up to `first + count`, plain.
   * @throws {Error} one is 0, so that its point would be infinity: draw again
   */
  async fill(query: Query, first: number, count: number, scalars: GPUBuffer): Promise<void> {
    switch (query) {
      case 'h':
        await this.#powers(frMul(frPow(this.#toxic.tau, BigInt(first)), this.#zOverDelta), count, scalars)
        break
      case 'l':
        await this.#scaled(this.#shape.inputs + first, count, frInv(this.#toxic.delta), scalars, 0)
        break
      case 'a':
        await this.#pick(this.#columns.u, this.#dense.a.places(first, count), scalars)
        break
      case 'b_g1':
      case 'b_g2':
        await this.#pick(this.#columns.v, this.#dense.b.places(first, count), scalars)
    }
    await this.#requireNonzero(query, first, count, scalars)
  }

  /** Writes those of `ic`, one a public input, from place `at` on. */
  async fillIc(scalars: GPUBuffer, at: number): Promise<void> {
    await this.#scaled(0, this.#shape.inputs, frInv(this.#toxic.gamma), scalars, at)
  }

  async #powers(factor: bigint, count: number, scalars: GPUBuffer): Promise<void> {
    const threads = Math.ceil(count / POWERS_PER_THREAD)
    const bits = Math.ceil(Math.log2(threads + 1))
    const { tau } = this.#toxic
    const constants = await ConstantBuffer.create(this.#gpu, 'constants of powers', [
      { value: frPow(tau, BigInt(threads)) },
      { value: factor, plain: true },
      ...squaresOf(tau, bits),
    ])
    try {
      await this.#gpu
        .commands('powers of τ')
        .dispatch(powersKernel, {
          buffers: [constants.buffer, scalars],
          params: [count, threads, bits],
          workgroups: Math.ceil(threads / 64),
        })
        .submit()
    } finally {
      constants.release()
    }
  }

  async #scaled(firstKey: number, count: number, factor: bigint, scalars: GPUBuffer, at: number): Promise<void> {
    const constants = await ConstantBuffer.create(this.#gpu, 'factor', [{ value: factor }])
    try {
      const commands = this.#gpu.commands('scale columns')
      for (const range of this.#columns.combined.ranges(firstKey, count)) {
        commands.dispatch(scaleKernel, {
          buffers: [constants.buffer, range.buffer, scalars],
          params: [range.count, range.first, at + range.at],
          workgroups: Math.ceil(range.count / 64),
        })
      }
      await commands.submit()
    } finally {
      constants.release()
    }
  }

  /** @param places rising */
  async #pick(values: Elements, places: Uint32Array, scalars: GPUBuffer): Promise<void> {
    const list = await this.#gpu.allocate(Math.max(16, places.byteLength), 'places')
    try {
      await this.#gpu.upload(list, 0, new Uint8Array(places.buffer, places.byteOffset, places.byteLength))
      const commands = this.#gpu.commands('pick columns')
      const size = 2 ** values.shardLog2
      for (let from = 0; from < places.length; ) {
        const shard = Math.floor((places[from] as number) / size)
        let to = firstAbove(places, from, (shard + 1) * size)
        if (to === from) to = places.length
        commands.dispatch(pickKernel, {
          buffers: [values.shards[shard] as GPUBuffer, list, scalars],
          params: [from, to - from, shard * size, values.shardCount(shard)],
          workgroups: Math.ceil((to - from) / 64),
        })
        from = to
      }
      await commands.submit()
    } finally {
      this.#gpu.release(list)
    }
  }

  async #requireNonzero(query: Query, first: number, count: number, scalars: GPUBuffer): Promise<void> {
    const set = new BufferSet(this.#gpu)
    try {
      const firstZero = await set.allocate(16, 'first zero')
      await this.#gpu.upload(firstZero, 0, new Uint8Array(Uint32Array.of(count).buffer))
      const commands = this.#gpu.commands('find zero').dispatch(findZeroKernel, {
        buffers: [scalars, firstZero],
        params: [count],
        workgroups: Math.ceil(count / 64),
      })
      const [, bytes] = await Promise.all([commands.submit(), this.#gpu.download(firstZero, 0, 4)])
      const at = new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0] as number
      if (at < count) throw new Error(`${query}[${first + at}] would be infinity`)
    } finally {
      set.release()
    }
  }
}

/** Bytes of the scalars of a range. */
export const scalarBytes = (count: number): number => Math.max(1, count) * ELEMENT_BYTES

/** The first index from `from` on whose place is at least `limit`. */
function firstAbove(places: Uint32Array, from: number, limit: number): number {
  let [low, high] = [from, places.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((places[middle] as number) >= limit) high = middle
    else low = middle + 1
  }
  return low
}

/** Bytes of a density whose set bits are counted together. */
const BLOCK = 4096

/** The variables of a query in order: some inputs, then the aux variables of a density. */
class DensePlaces {
  readonly #inputs: number
  readonly #firstAux: number
  readonly #dense: BitArray
  /** Set bits before each block. */
  readonly #before: Uint32Array

  constructor(inputs: number, firstAux: number, dense: BitArray) {
    this.#inputs = inputs
    this.#firstAux = firstAux
    this.#dense = dense
    this.#before = new Uint32Array(Math.ceil(dense.length / BLOCK) + 1)
    let set = 0
    for (const [byte, bits] of dense.entries()) {
      if (byte % BLOCK === 0) this.#before[byte / BLOCK] = set
      set += ONES[bits] as number
    }
    this.#before[this.#before.length - 1] = set
  }

  /** Places of the points `first` up to `first + count` in a vector of all variables. */
  places(first: number, count: number): Uint32Array {
    const places = new Uint32Array(count)
    let at = 0
    for (; at < count && first + at < this.#inputs; at++) places[at] = first + at
    let rank = first + at - this.#inputs
    const block = firstAbove(this.#before, 1, rank + 1) - 1
    rank -= this.#before[block] as number
    for (let byte = block * BLOCK; at < count; byte++) {
      for (let rest = this.#dense[byte] as number; rest !== 0 && at < count; rest &= rest - 1) {
        if (rank > 0) rank--
        else places[at++] = this.#firstAux + 8 * byte + 31 - Math.clz32(rest & -rest)
      }
    }
    return places
  }
}

/** Set bits of each byte. */
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => {
  let ones = 0
  for (let rest = byte; rest !== 0; rest &= rest - 1) ones++
  return ones
})
