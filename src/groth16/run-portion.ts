import type { Run } from './proving-device.ts'

/** A part of a running call: reports its own share, 0 to 1, as that between `from` and `to` of the whole. */
export function portion(run: Run, from: number, to: number): Run {
  return { ...run, unit: (share) => run.unit(from + share * (to - from)) }
}

/** A part that is too short to be reported. */
export function silent(run: Run): Run {
  return { ...run, unit: () => {} }
}
