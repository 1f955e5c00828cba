/** Loading a circuit onto devices: side by side, each ended if it hangs. */
import type { DeviceCircuit, DeviceClient, PointResidency } from '../device/device-client.ts'
import { watchStall } from '../device/stall-watch.ts'
import type { ReadRun } from '../params/parameters-location.ts'

/** How devices are watched while they load. */
export interface LoadWatch {
  readonly now: () => number
  /** A device that reports nothing for so long hangs, and is ended; after half of that it is told of. */
  readonly stallMs: number
  /** Something for the log that is no reason to fail. */
  readonly onNote?: ((message: string) => void) | undefined
}

/**
 * Loads a circuit onto one device, which is ended if it hangs.
 * @returns where the device has its points
 * @throws what the device fails with; `run.signal.reason`
 */
export async function loadOnto(
  client: DeviceClient,
  circuit: DeviceCircuit,
  { signal, unit, stalled }: ReadRun,
  { now, stallMs, onNote }: LoadWatch,
): Promise<PointResidency | undefined> {
  let heardAt = now()
  const loading = { silentMs: (): number => now() - heardAt }
  // A file that does not answer fails the load before the device is taken to hang.
  using _told = watchStall(loading, stallMs / 2, (silentMs) => stalled?.(silentMs, circuit.parameters.paramsFile))
  using _ended = watchStall(loading, stallMs, () => void client.close())
  return await client.warm(circuit, {
    signal,
    onNote,
    onProgress: (share) => {
      heardAt = now()
      unit(share)
    },
  })
}

/**
 * Loads onto several devices at once; `run` gets the share of the slowest. The first that fails stops the others: what
 * they have loaded by then nobody would give up.
 * @param load loads onto one
 * @throws what the first failed with, or `run.signal.reason`, when all have stopped
 */
export async function loadOntoAll(
  clients: readonly DeviceClient[],
  run: ReadRun,
  load: (client: DeviceClient, run: ReadRun) => Promise<void>,
): Promise<void> {
  const shares = clients.map(() => 0)
  const stop = new AbortController()
  const signal = AbortSignal.any([run.signal, stop.signal])
  const loads = clients.map(async (client, k) => {
    const unit = (share: number): void => {
      shares[k] = share
      run.unit(Math.min(...shares))
    }
    try {
      await load(client, { ...run, signal, unit })
    } catch (error) {
      stop.abort(error)
    }
  })
  await Promise.all(loads)
  signal.throwIfAborted()
}
