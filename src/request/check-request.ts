/**
 * What `prove` does with a request before it is a job's: checks its form, and finds out what tells it from others of
 * the same id.
 */
import { fingerprintSteps } from './statement.ts'
import { inTurns, type Steps } from './steps.ts'
import { type ValidatedRequest, validationSteps } from './validate.ts'

/** A request whose form is right. */
export interface CheckedRequest {
  readonly request: ValidatedRequest
  /** Digest of what is asked for; empty without a `requestId`, since nothing is compared then. */
  readonly fingerprint: string
}

/**
 * Works in slices of 10 ms between which the event loop turns, so that neither a long list of vanilla proofs nor the
 * digest of a long one holds the caller's thread up. A request that takes less than a slice is checked when the call
 * returns.
 * @throws {InvalidRequestError}, {@link UnsupportedProofError} as `validateRequest`, at once or as a rejection
 * @throws `signal.reason` once aborted
 */
export function checkRequest(request: unknown, signal?: AbortSignal): CheckedRequest | Promise<CheckedRequest> {
  return inTurns(checkingSteps(request), signal)
}

function* checkingSteps(unchecked: unknown): Steps<CheckedRequest> {
  const request = yield* validationSteps(unchecked)
  const fingerprint = request.requestId === undefined ? '' : yield* fingerprintSteps(request)
  return { request, fingerprint }
}
