/** Everything that a compute thread can be asked to do, by the name that {@link ThreadPool.run} takes. */
import { ASSIGNMENT_TASKS } from './assignment/tasks.ts'
import { POINT_TASKS } from './device-points.ts'
import { FIXED_BASE_TASKS } from './fixed-base/fixed-base.ts'
import { MSM_TASKS } from './msm/multiexp.ts'
import { NTT_TASKS } from './ntt/passes.ts'
import type { ThreadTask } from './thread-context.ts'

// Each task checks nothing about its arguments: they come from the coordinating side of this package alone.
// biome-ignore lint/suspicious/noExplicitAny: the registry holds tasks of any argument type
export const THREAD_TASKS: Readonly<Record<string, ThreadTask<any>>> = {
  ...ASSIGNMENT_TASKS,
  ...FIXED_BASE_TASKS,
  ...MSM_TASKS,
  ...NTT_TASKS,
  ...POINT_TASKS,
}
