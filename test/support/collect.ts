/** Garbage collection at a moment of the test's choosing. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Frees all that nothing refers to any more. */
export const collect: () => void = runInNewContext('gc')
