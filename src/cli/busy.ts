/** Whether what was measured is the machine's own speed, or what others left of it. */
import { availableParallelism, loadavg } from 'node:os'
import type { DeviceRates } from '../groth16/device-rates.ts'

/** Of the cores, from which on others are in the way. */
const LOAD_SHARE = 1 / 2
/** By so much repetitions differ on a machine that does little else. */
const SCATTER = 0.3

/** Processes that wanted a core at the same time in the last minute; 0 where the system does not say. */
export const loadAverage = (): number => loadavg()[0] ?? 0

/**
 * @param load {@link loadAverage} before anything was measured
 * @param rates of devices by their names
 */
export function busyWarnings(load: number, rates: Readonly<Record<string, DeviceRates | undefined>>): string[] {
  const cores = availableParallelism()
  const warnings: string[] = []
  if (load > LOAD_SHARE * cores) {
    warnings.push(
      `other work wanted ${load.toFixed(1)} of the ${cores} cores in the minute before: rates may be too low`,
    )
  }
  for (const [name, measured] of Object.entries(rates)) {
    if (measured === undefined || measured.scatter <= SCATTER) continue
    warnings.push(
      `repeated measurements of ${name} differ by ${(100 * measured.scatter).toFixed(0)} %: rates may be too low`,
    )
  }
  return warnings
}
