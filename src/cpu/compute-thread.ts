/** Entry of a compute thread: instantiates the kernels over the shared memory, then runs one task after the other. */
import { parentPort, workerData } from 'node:worker_threads'
import { toErrorObject } from '../errors.ts'
import { THREAD_TASKS } from './tasks.ts'
import type { ThreadContext, ThreadTask } from './thread-context.ts'
import type { TaskMessage, ThreadMessage, ThreadStart } from './thread-pool.ts'

const start = workerData as ThreadStart
const port = parentPort
if (port === null) throw new Error('compute-thread runs as a worker only')

const answer = (message: ThreadMessage): void => port.postMessage(message)

const env = {
  memory: start.memory,
  /** Address of this thread's private block, for kernels that spill. */
  scratch: new WebAssembly.Global({ value: 'i32' }, start.scratch),
  abort: (_message: number, _file: number, line: number, column: number): never => {
    throw new Error(`The circuit module failed an assertion at line ${line}, column ${column}`)
  },
}

const context: ThreadContext = {
  memory: start.memory,
  kernels: new WebAssembly.Instance(start.kernels, { env }).exports,
  circuit: new WebAssembly.Instance(start.circuit, { env }).exports,
  scratch: start.scratch,
  scratchBytes: start.scratchBytes,
}

type AnyTask = ThreadTask<unknown>
const tasks = new Map<string, AnyTask>(Object.entries(THREAD_TASKS))
for (const url of start.taskModules) {
  const module = (await import(url)) as { THREAD_TASKS: Record<string, AnyTask> }
  for (const [name, task] of Object.entries(module.THREAD_TASKS)) tasks.set(name, task)
}

port.on('message', ({ task: name, args }: TaskMessage) => {
  try {
    const task = tasks.get(name)
    if (task === undefined) throw new Error(`No task is called ${name}`)
    answer({ kind: 'done', value: task(context, args) })
  } catch (error) {
    answer({ kind: 'failed', error: toErrorObject(error) })
  }
})
answer({ kind: 'ready' })
