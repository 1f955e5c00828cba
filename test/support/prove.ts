/** From a request to proofs on a device, without an engine, and with blinding that the test chooses. */
import assert from 'node:assert/strict'
import type { CircuitShape, CompactWitness } from '../../src/circuit/shape.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { frFromBytes } from '../../src/field/fr.ts'
import type { Blinding } from '../../src/groth16/blinding.ts'
import { proveBatch } from '../../src/groth16/prove-batch.ts'
import type { ProvingDevice, Run } from '../../src/groth16/proving-device.ts'
import { SrsPoints, type SrsPointsOptions } from '../../src/groth16/srs-points.ts'
import type { SrsFile } from '../../src/params/srs-file.ts'
import { takeOver } from '../../src/request/partitions.ts'
import type { ProofRequest } from '../../src/request/proof-request.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { fromHex, vectorJson } from './vectors.ts'

export const idle: Run = { signal: new AbortController().signal, unit: () => {} }

export interface ProveRequestOptions {
  /** One pair a partition; random if left out. */
  readonly blindings?: readonly Blinding[] | undefined
  /** One batch for all partitions, or one each. @default true */
  readonly together?: boolean | undefined
  /**
   * Prove the first partition before, with points that stay for the proofs that are returned: its bytes must be the
   * same. @default false
   */
  readonly keep?: boolean | undefined
  /** Take points in ranges that fit the device's memory. @default what the device would have */
  readonly rangePoints?: SrsPointsOptions['rangePoints']
  readonly run?: Run | undefined
}

/** @returns 192 bytes a partition */
export async function proveRequest(
  device: ProvingDevice,
  shape: CircuitShape,
  source: SrsFile,
  request: ProofRequest,
  options: ProveRequestOptions = {},
): Promise<Uint8Array> {
  const { blindings, together = true, keep = false, rangePoints, run = idle } = options
  const hasher = new WasmPoseidonHasher()
  const witnesses: CompactWitness[] = []
  for (const partition of await takeOver(validateRequest(request))) {
    witnesses.push(await checkAndSynthesize(partition, hasher, idle))
  }
  const deviceShape = await device.loadShape(shape)
  const points = new SrsPoints(device, source, { keep, rangePoints })
  const prove = (first: number, count: number): Promise<Uint8Array[]> =>
    proveBatch(
      { device, shape: deviceShape, witnesses: witnesses.slice(first, first + count), points, key: source.key },
      run,
      blindings?.slice(first, first + count),
    )
  try {
    const before = keep ? await prove(0, 1) : []
    const proofs = together ? await prove(0, witnesses.length) : []
    if (!together) for (const k of witnesses.keys()) proofs.push(...(await prove(k, 1)))
    if (keep && blindings !== undefined) assert.deepEqual(proofs[0], before[0], 'the same bytes with points that stay')
    return new Uint8Array(Buffer.concat(proofs))
  } finally {
    points.release()
    deviceShape.release()
  }
}

/** Blinding and bytes of a proof that the reference made. */
export function recordedProof(path: string): { readonly proof: Uint8Array; readonly blindings: Blinding[] } {
  const { proof, partitions } = vectorJson(path) as { proof: string; partitions: { r: string; s: string }[] }
  return {
    proof: fromHex(proof),
    blindings: partitions.map(({ r, s }) => ({ r: frFromBytes(fromHex(r)), s: frFromBytes(fromHex(s)) })),
  }
}
