/** Points for kernel tests, from an independent implementation, and their way into a kernel's memory. */
import { bls12_381 } from '@noble/curves/bls12-381.js'
import type { Group } from '../../src/cpu/msm/group-kernels.ts'
import { ENCODED_BYTES, groupKernels } from '../../src/cpu/msm/group-kernels.ts'
import type { KernelInstance } from './kernel-instance.ts'
import { bytesAt } from './kernel-instance.ts'

export const R: bigint = bls12_381.fields.Fr.ORDER

/** What the tests need of a reference point. */
export interface ReferencePoint {
  add(other: ReferencePoint): ReferencePoint
  negate(): ReferencePoint
  double(): ReferencePoint
  multiply(scalar: bigint): ReferencePoint
  is0(): boolean
  toBytes(compressed: boolean): Uint8Array
}

export function generator(group: Group): ReferencePoint {
  return (group === 'g1' ? bls12_381.G1 : bls12_381.G2).Point.BASE as unknown as ReferencePoint
}

export function infinity(group: Group): ReferencePoint {
  return (group === 'g1' ? bls12_381.G1 : bls12_381.G2).Point.ZERO as unknown as ReferencePoint
}

/** Uncompressed big-endian. */
export function encode(group: Group, point: ReferencePoint): Uint8Array {
  if (!point.is0()) return point.toBytes(false)
  const encoded = new Uint8Array(ENCODED_BYTES[group])
  encoded[0] = 0x40
  return encoded
}

/** scalar · G, for any scalar. */
export function multiple(group: Group, scalar: bigint): ReferencePoint {
  const reduced = ((scalar % R) + R) % R
  return reduced === 0n ? infinity(group) : generator(group).multiply(reduced)
}

/** Imports encoded points. @returns the address of the first; they are adjacent */
export function importPoints(instance: KernelInstance, group: Group, encoded: readonly Uint8Array[]): number {
  const kernels = groupKernels(instance, group)
  const room = instance.arena.allocate(2 * kernels.encodedBytes)
  const points = instance.arena.allocate(encoded.length * kernels.pointBytes)
  encoded.forEach((bytes, i) => {
    bytesAt(instance, room, bytes.length).set(bytes)
    const out = points + i * kernels.pointBytes
    const bad = kernels.lanes === 2 ? kernels.importPoints(room, room, out, out) : kernels.importPoints(room, out)
    if (bad !== 0) throw new Error(`Point ${i} is refused: ${bad}`)
  })
  instance.arena.free(room)
  return points
}

export function exportPoint(instance: KernelInstance, group: Group, point: number): Uint8Array {
  const kernels = groupKernels(instance, group)
  const room = instance.arena.allocate(2 * kernels.encodedBytes)
  if (kernels.lanes === 2) kernels.exportPoints(point, point, room, room + kernels.encodedBytes)
  else kernels.exportPoints(point, room)
  const encoded = bytesAt(instance, room, kernels.encodedBytes).slice()
  instance.arena.free(room)
  return encoded
}
