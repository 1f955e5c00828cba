/**
 * A few additions that are not worth a batch: complete projective formulas, one point a call (in every lane the same).
 */
import type { ThreadContext } from '../thread-context.ts'
import type { GroupKernels } from './group-kernels.ts'
import type { Reference } from './pair-adder.ts'

/** Accumulators in a block of memory. An accumulator is named by its number. */
export class ProjectiveAccumulators {
  readonly #kernels: GroupKernels
  readonly #context: ThreadContext
  readonly #address: number
  readonly #count: number

  /** @param address of {@link accumulatorBytes} bytes that nothing else uses */
  constructor(context: ThreadContext, kernels: GroupKernels, address: number, count: number) {
    this.#context = context
    this.#kernels = kernels
    this.#address = address
    this.#count = count
    for (let i = 0; i < count; i++) this.clear(i)
  }

  /** Sets an accumulator to infinity. */
  clear(accumulator: number): void {
    const point = this.#spare()
    new Uint8Array(this.#context.memory.buffer, point, this.#kernels.pointBytes).fill(0)
    this.#lift(this.#at(accumulator), point)
  }

  /** accumulator += point. */
  addPoint(accumulator: number, reference: Reference): void {
    if (reference === 0) return
    const lifted = this.#at(this.#count)
    // Unsigned: addresses reach 4 GiB.
    this.#lift(lifted, (reference & ~1) >>> 0)
    const y = lifted + this.#kernels.projectiveBytes / 3
    if ((reference & 1) !== 0) this.#kernels.negateCoordinate(y, y)
    this.#kernels.addProjective(this.#at(accumulator), this.#at(accumulator), lifted)
  }

  /** accumulator += other; both may be the same. */
  add(accumulator: number, other: number): void {
    this.#kernels.addProjective(this.#at(accumulator), this.#at(accumulator), this.#at(other))
  }

  /** target = factor · source; target and source differ. */
  multiply(target: number, source: number, factor: number): void {
    this.clear(target)
    for (let bit = 31 - Math.clz32(factor); bit >= 0; bit--) {
      this.add(target, target)
      if ((factor >>> bit) & 1) this.add(target, source)
    }
  }

  /** Writes an accumulator as an affine point. */
  store(accumulator: number, address: number): void {
    const { lower } = this.#kernels
    if (this.#kernels.lanes === 2) lower(this.#at(accumulator), address, address)
    else lower(this.#at(accumulator), address)
  }

  #at(accumulator: number): number {
    return this.#address + accumulator * this.#kernels.projectiveBytes
  }

  #spare(): number {
    return this.#at(this.#count + 1)
  }

  #lift(target: number, point: number): void {
    if (this.#kernels.lanes === 2) this.#kernels.lift(target, point, point)
    else this.#kernels.lift(target, point)
  }
}

/** Memory for `count` accumulators and what adding to them needs. */
export function accumulatorBytes(kernels: GroupKernels, count: number): number {
  return (count + 1) * kernels.projectiveBytes + kernels.pointBytes
}

/** Encodes one point, uncompressed big-endian. `room` is an address with space for the encoding. */
export function encodePoint(context: ThreadContext, kernels: GroupKernels, point: number, room: number): Uint8Array {
  if (kernels.lanes === 2) kernels.exportPoints(point, point, room, room)
  else kernels.exportPoints(point, room)
  return new Uint8Array(context.memory.buffer, room, kernels.encodedBytes).slice()
}

/** Whether an encoding is of infinity: the second highest bit. */
export function isEncodedInfinity(encoded: Uint8Array): boolean {
  return ((encoded[0] as number) & 0x40) !== 0
}

/**
 * Decodes one point that this package encoded.
 * @param room an address with space for the encoding
 * @returns a reference: `point`, or 0 for infinity
 * @throws {Error} if the encoding is not of a point on the curve
 */
export function decodePoint(
  context: ThreadContext,
  kernels: GroupKernels,
  encoded: Uint8Array,
  point: number,
  room: number,
): Reference {
  if (isEncodedInfinity(encoded)) return 0
  new Uint8Array(context.memory.buffer, room, kernels.encodedBytes).set(encoded)
  const bad = kernels.lanes === 2 ? kernels.importPoints(room, room, point, point) : kernels.importPoints(room, point)
  if (bad !== 0) throw new Error('An encoded point is not on the curve')
  return point
}
