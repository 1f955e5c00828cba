/**
 * Fq2 = Fq[u]/(u² + 1) over the kernels of the CPU device: elements are addresses of blocks in a thread's memory, in
 * Montgomery form and tidy, which all operations take and return. A block holds one element, or one in each of two
 * lanes; every operation works on all lanes alike.
 */
import type { MemoryArena } from '../arena.ts'
import type { ThreadContext } from '../thread-context.ts'

const FQ_BYTES = 48
/** A block of Fq in each lane: that of a point at rest. */
const LANE_BYTES = 64

type Kernel = (...args: number[]) => number

/** c0 and c1 of an element of Fq2. */
export type Fq2Value = readonly [c0: bigint, c1: bigint]

/** Operations write to `out`, which may be one of the inputs. */
export class Fq2Field {
  readonly lanes: number
  /** Bytes of an element in all lanes. */
  readonly bytes: number
  readonly mul: Kernel
  readonly sqr: Kernel
  readonly add: Kernel
  readonly sub: Kernel
  readonly neg: Kernel
  /** 0 for 0. */
  readonly inv: Kernel
  readonly #memory: WebAssembly.Memory
  readonly #arena: MemoryArena
  readonly #half: number
  readonly #spare: number
  readonly #staged: number
  readonly #fq: Readonly<
    Record<'mul' | 'add' | 'sub' | 'neg' | 'tidy' | 'import' | 'export' | 'toMont' | 'fromMont', Kernel>
  >

  constructor({ kernels, memory }: ThreadContext, arena: MemoryArena) {
    const kernel = (name: string): Kernel => {
      const found = kernels[name]
      if (found === undefined) throw new Error(`The kernel module has no function ${name}`)
      return found
    }
    this.lanes = kernel('lanes')()
    this.#half = LANE_BYTES * this.lanes
    this.bytes = 2 * this.#half
    this.mul = kernel('fq2_mul')
    this.sqr = kernel('fq2_sqr')
    this.add = kernel('fq2_add')
    this.sub = kernel('fq2_sub')
    this.neg = kernel('fq2_neg')
    this.inv = kernel('fq2_inv')
    this.#fq = {
      mul: kernel('fq_mul'),
      add: kernel('fq_add'),
      sub: kernel('fq_sub'),
      neg: kernel('fq_neg'),
      tidy: kernel('fq_tidy'),
      import: kernel('fq_import'),
      export: kernel('fq_export'),
      toMont: kernel('fq_to_mont'),
      fromMont: kernel('fq_from_mont'),
    }
    this.#memory = memory
    this.#arena = arena
    this.#spare = this.allocate(1)
    this.#staged = arena.allocate(2 * FQ_BYTES)
  }

  /** Room for some elements, one behind the other, for as long as the field lives. */
  allocate(count: number): number {
    return this.#arena.allocate(count * this.bytes)
  }

  /** @param values one for all lanes, or one a lane */
  set(out: number, values: readonly Fq2Value[]): void {
    const lanes = Array.from({ length: this.lanes }, (_, lane) => values[lane % values.length] as Fq2Value)
    for (const component of [0, 1] as const) {
      const at = out + component * this.#half
      for (const [lane, value] of lanes.entries()) this.#write(this.#address(lane), value[component])
      this.#fq.import(at, ...lanes.map((_, lane) => this.#address(lane)))
      this.#fq.toMont(at, at)
    }
  }

  /** Values of all lanes, below p. */
  get(a: number): Fq2Value[] {
    const parts = [0, 1].map((component) => {
      this.#fq.fromMont(this.#spare, a + component * this.#half)
      this.#fq.export(this.#spare, ...Array.from({ length: this.lanes }, (_, lane) => this.#address(lane)))
      return Array.from({ length: this.lanes }, (_, lane) => this.#read(this.#address(lane)))
    })
    return Array.from({ length: this.lanes }, (_, lane) => [parts[0]?.[lane] as bigint, parts[1]?.[lane] as bigint])
  }

  copy(out: number, a: number): void {
    new Uint8Array(this.#memory.buffer).copyWithin(out, a, a + this.bytes)
  }

  double(out: number, a: number): void {
    this.add(out, a, a)
  }

  conjugate(out: number, a: number): void {
    const half = this.#half
    this.#fq.tidy(out, a)
    this.#fq.neg(out + half, a + half)
  }

  /** a · ξ, ξ = 1 + u: (a0 − a1) + (a0 + a1)·u. */
  mulXi(out: number, a: number): void {
    const half = this.#half
    this.#fq.sub(this.#spare, a, a + half)
    this.#fq.add(out + half, a, a + half)
    this.#fq.tidy(out, this.#spare)
  }

  /** a · b for an element b of Fq, given as c0 of one of Fq2. */
  scale(out: number, a: number, b: number): void {
    const half = this.#half
    this.#fq.mul(out, a, b)
    this.#fq.mul(out + half, a + half, b)
  }

  #address(lane: number): number {
    return this.#staged + lane * FQ_BYTES
  }

  /** Little-endian, no Montgomery form. */
  #write(address: number, value: bigint): void {
    const view = new DataView(this.#memory.buffer, address, FQ_BYTES)
    for (let at = 0; at < FQ_BYTES; at += 8) view.setBigUint64(at, BigInt.asUintN(64, value >> BigInt(8 * at)), true)
  }

  #read(address: number): bigint {
    const view = new DataView(this.#memory.buffer, address, FQ_BYTES)
    let value = 0n
    for (let at = FQ_BYTES - 8; at >= 0; at -= 8) value = (value << 64n) | view.getBigUint64(at, true)
    return value
  }
}
