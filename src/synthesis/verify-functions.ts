/** Verification in a worker: it takes the time of a few frames, which must not hold the host's event loop up. */
import { setImmediate } from 'node:timers/promises'
import type { CircuitId } from '../circuit/circuit-id.ts'
import { wasmArithmetic } from '../cpu/verify-arithmetic.ts'
import { G1, G2 } from '../curve/points.ts'
import { frToBytes } from '../field/fr.ts'
import { encodeProof } from '../groth16/proof.ts'
import type { Run } from '../groth16/proving-device.ts'
import {
  type PreparedInputs,
  type PublicInputs,
  prepareInputs,
  verifyPrepared,
  verifyProofs,
} from '../groth16/verify.ts'
import { freshDigest } from '../params/digest.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import { openVerifyingKey } from '../params/srs-file.ts'
import type { VerifyingKey } from '../params/verifying-key.ts'

/** What proofs have to state. */
export interface InputsTask {
  readonly location: ParametersLocation
  readonly publicInputs: PublicInputs
}

/** A finished proof and what it has to state, prepared or not. */
export interface VerifyTask {
  readonly location: ParametersLocation
  readonly inputs: PublicInputs | PreparedInputs
  /** 192 bytes a partition. */
  readonly proof: Uint8Array
}

/** Keys in use, one a circuit: reading one takes longer than a verification. */
const keys = new Map<CircuitId, { readonly digest: string; readonly key: VerifyingKey }>()

async function keyOf(location: ParametersLocation, run: Run): Promise<VerifyingKey> {
  let known = keys.get(location.circuitId)
  if (known?.digest !== location.vkDigest) {
    known = {
      digest: location.vkDigest,
      key: await openVerifyingKey(location, undefined, run.signal),
    }
    keys.set(location.circuitId, known)
  }
  run.signal.throwIfAborted()
  return known.key
}

async function verify({ location, inputs, proof }: VerifyTask, run: Run): Promise<boolean> {
  const key = await keyOf(location, run)
  return 'sum' in inputs
    ? verifyPrepared(key, inputs, proof, wasmArithmetic)
    : verifyProofs(key, inputs, proof, wasmArithmetic)
}

async function prepare({ location, publicInputs }: InputsTask, run: Run): Promise<PreparedInputs> {
  return prepareInputs(await keyOf(location, run), publicInputs, wasmArithmetic)
}

/** Compiled code gets faster as it is called: so many times are a tenth of a second. */
const WARMING_CALLS = 6

/** Does what a verification does, for the first one to take no longer than others. The proof is of nothing. */
async function warm(location: ParametersLocation, run: Run): Promise<void> {
  const key = await keyOf(location, run)
  const inputs = Array.from({ length: key.inputs - 1 }, (_, i) => frToBytes(BigInt(i)))
  const proof = encodeProof({ a: G1.BASE, b: G2.BASE, c: G1.BASE })
  for (let call = 0; call < WARMING_CALLS; call++) {
    verifyProofs(key, [inputs], proof, wasmArithmetic)
    run.unit(call / WARMING_CALLS)
    await setImmediate()
    run.signal.throwIfAborted()
  }
}

/**
 * Reads parameters anew, whatever is remembered of them: what their digest is now. Those without a file can't have
 * changed.
 */
async function digestOf({ paramsFile, paramsDigest, made }: ParametersLocation, run: Run): Promise<string> {
  return made === undefined ? await freshDigest(paramsFile, run) : paramsDigest
}

export interface VerifyFunctions {
  /** What can be computed of a verification before there is a proof. */
  readonly prepareInputs: (task: InputsTask, run: Run) => Promise<PreparedInputs>
  /** Whether the proofs of all partitions hold. */
  readonly verify: (task: VerifyTask, run: Run) => Promise<boolean>
  /** Gets a thread ready for the verification of proofs of a circuit. */
  readonly warm: (location: ParametersLocation, run: Run) => Promise<void>
  /** The present digest of a circuit's parameters: of 60 GB it takes a minute and more. */
  readonly digestOf: (location: ParametersLocation, run: Run) => Promise<string>
}

export const verifyFunctions: VerifyFunctions = { prepareInputs: prepare, verify, warm, digestOf }
