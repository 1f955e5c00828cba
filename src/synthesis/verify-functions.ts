/** Verification in a worker: about a tenth of a second of bigint arithmetic that must not hold the host's event loop up. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { wasmMultiexp } from '../cpu/verify-multiexp.ts'
import type { Run } from '../groth16/proving-device.ts'
import { type PreparedVerifyingKey, prepareVerifyingKey, verifyProofs } from '../groth16/verify.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import { openVerifyingKey } from '../params/srs-file.ts'

/** A finished proof and what it has to state. */
export interface VerifyTask {
  readonly location: ParametersLocation
  /** One list a partition, ONE left out, 32 bytes little-endian each. */
  readonly publicInputs: readonly (readonly Uint8Array[])[]
  /** 192 bytes a partition. */
  readonly proof: Uint8Array
}

/** Keys in use, one a circuit: reading and preparing one takes longer than a verification. */
const prepared = new Map<CircuitId, { readonly digest: string; readonly key: PreparedVerifyingKey }>()

async function verify({ location, publicInputs, proof }: VerifyTask, run: Run): Promise<boolean> {
  let known = prepared.get(location.circuitId)
  if (known?.digest !== location.vkDigest) {
    known = { digest: location.vkDigest, key: prepareVerifyingKey(await openVerifyingKey(location)) }
    prepared.set(location.circuitId, known)
  }
  run.signal.throwIfAborted()
  return verifyProofs(known.key, publicInputs, proof, { multiexp: wasmMultiexp })
}

export interface VerifyFunctions {
  /** Whether the proofs of all partitions hold. */
  readonly verify: (task: VerifyTask, run: Run) => Promise<boolean>
}

export const verifyFunctions: VerifyFunctions = { verify }
