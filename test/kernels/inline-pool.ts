/** A pool that runs its tasks in place, one after the other. */
import { THREAD_TASKS } from '../../src/cpu/tasks.ts'
import type { ThreadPool } from '../../src/cpu/thread-context.ts'
import type { KernelInstance } from './kernel-instance.ts'

export function inlinePool(instance: KernelInstance): ThreadPool {
  return {
    threads: 2,
    memory: instance.memory,
    arena: instance.arena,
    backend: instance.fields.fq.backend,
    run: async (task, args, run) =>
      args.map((arg, i) => {
        run.signal.throwIfAborted()
        const found = THREAD_TASKS[task]
        if (found === undefined) throw new Error(`No task is called ${task}`)
        const result = found(instance, structuredClone(arg) as never)
        run.unit((i + 1) / args.length)
        return result as never
      }),
    close: async () => {},
  }
}
