/** Tasks for tests of the thread pool; plain JavaScript, since a worker loads it as it is. */
import { threadId } from 'node:worker_threads'

const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

export const THREAD_TASKS = {
  square: (_context, x) => x * x,
  threadOf: (_context, ms) => {
    sleep(ms)
    return threadId
  },
  sleep: (_context, ms) => sleep(ms),
  fail: (_context, message) => {
    throw new RangeError(message)
  },
  failAt: (_context, { index, at }) => {
    sleep(5)
    if (index === at) throw new Error(`task ${index}`)
    return index
  },
  exit: (_context, code) => process.exit(code),
  loop: () => {
    for (;;);
  },
  uncloneable: () => () => 0,
  write: ({ memory }, { address, value }) => {
    new Uint8Array(memory.buffer)[address] = value
  },
  scratch: ({ scratch, scratchBytes }) => {
    sleep(20)
    return { scratch, scratchBytes }
  },
}
