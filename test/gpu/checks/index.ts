import type { Check } from '../harness.ts'
import { assignmentChecks } from './assignment.ts'
import { batchAffineChecks } from './batch-affine.ts'
import { fieldChecks } from './field.ts'
import { inversionChecks } from './inversion.ts'
import { jointSumChecks } from './joint-sums.ts'
import { memoryChecks } from './memory.ts'
import { multiexpChecks } from './multiexp.ts'
import { nttChecks } from './ntt.ts'
import { openingChecks } from './opening.ts'
import { pointChecks } from './points.ts'
import { proofChecks } from './proofs.ts'
import { setupChecks } from './setup.ts'
import { tuningChecks } from './tuning.ts'
import { urgentChecks } from './urgent.ts'

/** Every check of a kernel, by name. */
export const checks: Readonly<Record<string, Check>> = {
  ...openingChecks,
  ...memoryChecks,
  ...fieldChecks,
  ...inversionChecks,
  ...batchAffineChecks,
  ...multiexpChecks,
  ...jointSumChecks,
  ...nttChecks,
  ...assignmentChecks,
  ...setupChecks,
  ...pointChecks,
  ...proofChecks,
  ...tuningChecks,
  ...urgentChecks,
}
