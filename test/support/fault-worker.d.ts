import type { Run } from '../../src/groth16/proving-device.ts'

/** The functions of `fault-worker.js`. */
export type FaultFunctions = {
  readonly echo: (args: Record<string, unknown>, run: Run) => Record<string, unknown>
  readonly count: (args: { units: number; unitMs: number }, run: Run) => Promise<void>
  readonly running: (args: undefined, run: Run) => number
  readonly refuse: (args: undefined, run: Run) => never
  readonly remark: (message: string, run: Run) => void
  readonly beat: (shared: Int32Array, run: Run) => void
  readonly block: (ms: number, run: Run) => void
  readonly stop: (args: undefined, run: Run) => void
  readonly fill: (shared: Uint8Array, run: Run) => void
  readonly die: (how: 'exit' | 'throw', run: Run) => Promise<void>
}
