/**
 * Filecoin's storage proofs: an engine that makes them, and what belongs beside it.
 *
 * ```ts
 * import { Engine } from 'wgzk'
 *
 * await using engine = await Engine.create()
 * engine.on('progress', ({ job, fraction }) => console.log(job.kind, `${Math.round(fraction * 100)} %`))
 *
 * const { proof } = await engine.prove({
 *   kind: 'window-post',
 *   registeredProof: 'StackedDrgWindow2KiBV1_1',
 *   minerId: 1000n,
 *   partitionIndex: 0,
 *   randomness, // 32 bytes
 *   vanillaProofs, // one a sector
 * })
 * ```
 *
 * Every proof is verified before it is returned; every failure is a `ProverError` with a stable `code`, or
 * `signal.reason`.
 *
 * @module
 */
export type { CircuitCapability } from './budget/capabilities.ts'
export type { CircuitFamily, CircuitId, ProofKind, SectorSizeName, SectorSizeTag } from './circuit/circuit-id.ts'
export { type CuzkAllocation, type CuzkStatus, toCuzkStatus } from './cuzk-status.ts'
export type { DeviceRow as DeviceStatus, DeviceState } from './device/pooled-device.ts'
export { Engine, type ProveOptions } from './engine.ts'
export {
  BudgetExceededError,
  DeadlineExceededError,
  DevelopmentParametersError,
  EngineClosedError,
  GpuDeviceLostError,
  GpuOutOfMemoryError,
  GpuUnavailableError,
  GpuValidationError,
  InvalidOptionsError,
  InvalidRequestError,
  ProofInvalidError,
  ProverError,
  type ProverErrorCode,
  type ProverErrorDetails,
  type ProverErrorOptions,
  QueueFullError,
  RequestConflictError,
  SrsUnavailableError,
  SynthesisError,
  UnsupportedProofError,
  WorkerExitedError,
} from './errors.ts'
export type {
  Diagnosis,
  EngineEvents,
  EventName,
  JobProgress,
  JobRef,
  PartitionEvent,
  PartitionState,
  ProofResult,
  ProofTimings,
  StallPhase,
} from './events.ts'
export type { LogFn, Logger } from './logger.ts'
export type {
  AbortOptions,
  CloseOptions,
  CpuOptions,
  EngineOptions,
  GpuOptions,
  GpuSelector,
  MemoryOptions,
  SynthesisOptions,
} from './options.ts'
export { type RequiredFile, requiredFiles } from './params/published.ts'
export type { JobState } from './queue/job.ts'
export type { JobStatus } from './queue/job-status.ts'
export { registeredSealProof } from './request/porep/seal-proofs.ts'
export type {
  Commitment,
  PorepC2Request,
  Priority,
  ProofRequest,
  ProofStatement,
  RegisteredSealProof,
  RegisteredUpdateProof,
  RegisteredWindowPostProof,
  RegisteredWinningPostProof,
  SectorCommitment,
  SnapUpdateRequest,
  WindowPostRequest,
  WinningPostRequest,
} from './request/proof-request.ts'
export { registeredWindowPostProof, registeredWinningPostProof } from './request/registered-proofs.ts'
export { registeredUpdateProof } from './request/snap/update-proofs.ts'
export { statementOf } from './request/statement.ts'
export {
  type DevelopmentParameters,
  type DevelopmentSetupOptions,
  developmentSetup,
} from './srs/development-setup.ts'
export type { EngineStatus } from './status.ts'
export { type VerifyProofOptions, verifyProof } from './verify-proof.ts'
