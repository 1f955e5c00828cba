/** Which files hold the parameters of a circuit, and what they must be. */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { ToxicWaste } from './toxic-waste.ts'

/** The files of one circuit. Survives structured clone. */
export interface ParametersLocation {
  readonly circuitId: CircuitId
  /** Made by `developmentSetup`: worthless on a real network. */
  readonly development: boolean
  /** Paths, absolute or relative as the directory was given. */
  readonly paramsFile: string
  readonly vkFile: string
  /** First 16 bytes of BLAKE2b-512, in hex. */
  readonly paramsDigest: string
  readonly vkDigest: string
  /** Development only: fingerprint of the circuit that they were made for. */
  readonly circuitFingerprint?: string
  /**
   * Instead of a file: devices make the points in their own memory. The first of them writes the verifying key to
   * `vkFile`; what it will be is not known before, so that the digests only tell one set-up from another.
   */
  readonly made?: true
}

/**
 * Parameters as they are found: with the secrets of the set-up where devices make the points. Nobody but these is to
 * get them.
 */
export interface LocatedParameters extends ParametersLocation {
  readonly secrets?: ToxicWaste
}

/** What reading a large file reports to, and obeys. */
export interface ReadRun {
  readonly signal: AbortSignal
  /** The share (0 to 1) that is done. */
  unit(share: number): void
  /** Something for the log that is no reason to fail. */
  note?(message: string): void
  /** Nothing was heard of the reading of this file for so long. */
  stalled?(silentMs: number, file: string): void
  /** How long one call to the file system may take. @default ANSWER_LIMIT_MS */
  readonly answerMs?: number | undefined
}
