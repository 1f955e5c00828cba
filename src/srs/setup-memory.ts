/** Device memory of a set-up that is written to files, for who has too little. */
import type { CircuitShape } from '../circuit/shape.ts'
import { GpuOutOfMemoryError, type ProverError } from '../errors.ts'
import { setupBytes, writingBytes } from '../webgpu/setup/setup-bytes.ts'
import { CHUNK_BYTES, CHUNKS_IN_HAND } from './write-parameters.ts'

/** The GPU that makes the points. */
export interface SetupGpu {
  readonly name: string
  readonly gpu: { readonly bindingBytes: number }
  rangePoints(group: 'g1' | 'g2'): number
}

/** What the memory of a set-up follows from. */
type SetupCircuit = Parameters<typeof setupBytes>[0]

/** At most, in bytes: while columns are computed, or while points are written. */
function setupMemoryBytes(circuit: SetupCircuit, device: SetupGpu): number {
  const atOnce = { g1: device.rangePoints('g1'), g2: device.rangePoints('g2') }
  const { columns, points } = setupBytes(circuit, device.gpu, atOnce)
  return Math.max(columns, points + writingBytes(CHUNK_BYTES.webgpu, CHUNKS_IN_HAND))
}

/** A GPU's refusal, with what the whole set-up takes: the bytes that were refused tell little. */
export function tooLittleMemory(
  cause: ProverError,
  device: SetupGpu,
  circuit: SetupCircuit & Pick<CircuitShape, 'circuitId'>,
): GpuOutOfMemoryError {
  const { name } = device
  const needed = setupMemoryBytes(circuit, device)
  return new GpuOutOfMemoryError(
    `development parameters of ${circuit.circuitId} take up to ${needed} bytes of device memory: ${cause.message}`,
    { details: { ...cause.details, device: name, expected: `up to ${needed} bytes` }, cause },
  )
}
