/** Verification in a worker: about a tenth of a second of bigint arithmetic that must not hold the host's event loop up. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { wasmMultiexp } from '../cpu/verify-multiexp.ts'
import type { Run } from '../groth16/proving-device.ts'
import { type PreparedVerifyingKey, prepareVerifyingKey, verifyProofs } from '../groth16/verify.ts'
import { freshDigest } from '../params/digest.ts'
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
    known = {
      digest: location.vkDigest,
      key: prepareVerifyingKey(await openVerifyingKey(location, undefined, run.signal)),
    }
    prepared.set(location.circuitId, known)
  }
  run.signal.throwIfAborted()
  return verifyProofs(known.key, publicInputs, proof, { multiexp: wasmMultiexp })
}

/** Reads parameters anew, whatever is remembered of them: what their digest is now. Those without a file can't have changed. */
async function digestOf({ paramsFile, paramsDigest, made }: ParametersLocation, run: Run): Promise<string> {
  return made === undefined ? await freshDigest(paramsFile, run) : paramsDigest
}

export interface VerifyFunctions {
  /** Whether the proofs of all partitions hold. */
  readonly verify: (task: VerifyTask, run: Run) => Promise<boolean>
  /** The present digest of a circuit's parameters: of 60 GB it takes a minute and more. */
  readonly digestOf: (location: ParametersLocation, run: Run) => Promise<string>
}

export const verifyFunctions: VerifyFunctions = { verify, digestOf }
