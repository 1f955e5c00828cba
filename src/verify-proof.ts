/** Verification without an engine: what a chain node does with a proof, for those who receive one. */
import { types } from 'node:util'
import { isCircuitId } from './circuit/circuit-id.ts'
import { asError, InvalidRequestError } from './errors.ts'
import { resolveVerifyOptions } from './options.ts'
import type { VerifyingKey } from './params/verifying-key.ts'
import { orAborted } from './params/waiting.ts'
import type { ProofRequest, ProofStatement } from './request/proof-request.ts'
import { statementOf } from './request/statement.ts'
import { locateParameters } from './srs/locate-parameters.ts'

/** Options of {@link verifyProof}. */
export interface VerifyProofOptions {
  /**
   * Folder with the verifying keys.
   * @default process.env.FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters
   */
  readonly parameterCache?: string | URL | undefined
  /** Accept a development key where the published files are absent. @default false */
  readonly allowDevelopmentParameters?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** Keys by digest, the one used last at the end: of 2.5 MB at most. */
const keys = new Map<string, VerifyingKey>()

/** As many as there are circuits. Development keys made anew would otherwise pile up. */
const MOST_KEYS = 20

/**
 * Checks a proof against public data, all partitions at once, as the chain does. No engine is needed, and of the
 * parameters only the `.vk` file: a machine that proves nothing needs no `.params`. Takes 15 to 40 ms of the calling
 * thread, about 200 ms for the 25,839 inputs of a 32 GiB WindowPoSt.
 *
 * @param statement what is proven: a request, whose public inputs are derived as the chain derives them, or what
 *   `statementOf` gave
 * @param proof 192 bytes a partition. Bytes that are no proof at all give false
 * @throws {InvalidOptionsError} an option is misspelt or of the wrong kind
 * @throws {InvalidRequestError} the statement is malformed, or its public inputs don't fit the circuit
 * @throws {UnsupportedProofError} a request for a non-interactive PoRep
 * @throws {SrsUnavailableError} the verifying key is missing or damaged, or does not answer
 * @throws {DevelopmentParametersError} only a development key was found, and it isn't allowed
 * @throws `signal.reason` if the signal aborts before the check begins
 */
export async function verifyProof(
  statement: ProofRequest | ProofStatement,
  proof: Uint8Array,
  options: VerifyProofOptions = {},
): Promise<boolean> {
  const { signal, directory, allowDevelopment } = resolveVerifyOptions(options)
  signal?.throwIfAborted()
  if (!types.isUint8Array(proof)) {
    throw new InvalidRequestError('proof: expected a Uint8Array', {
      details: { field: 'proof', expected: 'Uint8Array', received: typeof proof },
    })
  }
  const { circuitId, publicInputs } = isStatement(statement) ? checkedStatement(statement) : statementOf(statement)
  const locating = locateParameters(circuitId, { directory, allowDevelopment, verifyingKeyOnly: true })
  const location = await (signal === undefined ? locating : orAborted(locating, signal))
  // Curve arithmetic takes longer to load than the rest of the package: only who verifies waits for it.
  const [{ verifyProofs }, { openVerifyingKey }, { wasmArithmetic }] = await Promise.all([
    import('./groth16/verify.ts'),
    import('./params/srs-file.ts'),
    import('./cpu/verify-arithmetic.ts'),
  ])
  const key = keys.get(location.vkDigest) ?? (await openVerifyingKey(location, undefined, signal))
  keys.delete(location.vkDigest)
  keys.set(location.vkDigest, key)
  const [oldest] = keys.keys()
  if (oldest !== undefined && keys.size > MOST_KEYS) keys.delete(oldest)
  signal?.throwIfAborted()
  return verifyProofs(key, publicInputs, proof, wasmArithmetic)
}

function isStatement(value: ProofRequest | ProofStatement): value is ProofStatement {
  return typeof value === 'object' && value !== null && 'publicInputs' in value
}

function checkedStatement(statement: ProofStatement): ProofStatement {
  const refuse = (field: string, expected: string, value: unknown): InvalidRequestError => {
    const received = asError(value).message
    return new InvalidRequestError(`${field}: expected ${expected}, got ${received}`, {
      details: { field, expected, received },
    })
  }
  const { circuitId, publicInputs } = statement
  if (!isCircuitId(circuitId)) throw refuse('circuitId', 'a circuit id such as wpost-32g', circuitId)
  if (!Array.isArray(publicInputs)) throw refuse('publicInputs', 'a list of lists', typeof publicInputs)
  for (const [k, inputs] of publicInputs.entries()) {
    if (!Array.isArray(inputs)) throw refuse(`publicInputs[${k}]`, 'a list', typeof inputs)
    for (const [i, input] of inputs.entries()) {
      if (!types.isUint8Array(input)) throw refuse(`publicInputs[${k}][${i}]`, 'a Uint8Array', typeof input)
    }
  }
  return statement
}
