/**
 * The circuits that a device's worker has open. Batches share what is open; it is freed when it was forgotten and
 * nobody uses it any more, whichever comes last, so that no batch loses what it works with to another's end.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { DeviceShape, Run } from '../groth16/proving-device.ts'
import { SharedPass } from '../groth16/shared-pass.ts'
import type { SrsPoints } from '../groth16/srs-points.ts'
import type { SrsFile } from '../params/srs-file.ts'
import { orAborted } from '../params/waiting.ts'
import type { DeviceCircuit } from './device-client.ts'

/** What a device keeps of a circuit. */
export interface OpenCircuit {
  readonly shape: DeviceShape
  readonly file: Pick<SrsFile, 'key' | 'close'>
  readonly points: SrsPoints
}

/** A use of an open circuit, until it is disposed of. */
export interface UsedCircuit extends OpenCircuit, Disposable {
  /** The points for all who pass over them at the same time. */
  readonly shared: SharedPass
}

interface Entry {
  readonly circuitId: CircuitId
  /** Of the parameters: others under the same name are opened anew. */
  readonly digest: string
  readonly opened: Promise<Omit<UsedCircuit, typeof Symbol.dispose>>
  readonly controller: AbortController
  /** Who waits for it. */
  readonly waiting: Set<Run>
  /** Batches that use it or wait for it. */
  users: number
  state: 'opening' | 'open' | 'forgotten'
}

/** The circuits that one device has open, by their id. */
export class OpenCircuits {
  readonly #open: (circuit: DeviceCircuit, run: Run) => Promise<OpenCircuit>
  readonly #entries = new Map<CircuitId, Entry>()
  /** Forgotten, but in use. */
  readonly #leaving = new Set<Promise<void>>()

  /** @param open opens one circuit; its signal aborts when nobody waits for it any more */
  constructor(open: (circuit: DeviceCircuit, run: Run) => Promise<OpenCircuit>) {
    this.#open = open
  }

  /**
   * Opens a circuit, or shares what is open or being opened: that goes on as long as anybody waits for it. A failure is
   * told to all who wait; whoever comes next tries again.
   * @throws what opening failed with; `run.signal.reason` once the signal aborts
   */
  async use(circuit: DeviceCircuit, run: Run): Promise<UsedCircuit> {
    run.signal.throwIfAborted()
    const entry = this.#entry(circuit)
    entry.users++
    entry.waiting.add(run)
    try {
      const opened = await orAborted(entry.opened, run.signal)
      let using = true
      return {
        ...opened,
        [Symbol.dispose]: () => {
          if (using) void this.#leave(entry)
          using = false
        },
      }
    } catch (error) {
      await this.#leave(entry)
      throw error
    } finally {
      entry.waiting.delete(run)
    }
  }

  /** Drops a circuit: it is freed now, or when the last of those that use it has ended. */
  async forget(circuitId: CircuitId): Promise<void> {
    const entry = this.#entries.get(circuitId)
    if (entry !== undefined) await this.#forget(entry)
  }

  /** Drops what nobody uses now, of the circuits that may go. */
  async forgetIdle(may: (circuitId: CircuitId) => boolean = () => true): Promise<void> {
    for (const entry of [...this.#entries.values()]) {
      if (entry.users === 0 && may(entry.circuitId)) await this.#forget(entry)
    }
  }

  /** Drops everything; waits a little for those that still use some of it. */
  async close(limitMs: number): Promise<void> {
    for (const entry of [...this.#entries.values()]) await this.#forget(entry)
    await Promise.race([Promise.all(this.#leaving), delay(limitMs, undefined, { ref: false })])
  }

  #entry(circuit: DeviceCircuit): Entry {
    const { circuitId, parameters } = circuit
    const known = this.#entries.get(circuitId)
    if (known?.digest === parameters.paramsDigest) return known
    if (known !== undefined) void this.#forget(known)
    const controller = new AbortController()
    const waiting = new Set<Run>()
    const opened = this.#open(circuit, {
      signal: controller.signal,
      unit: (share) => {
        for (const run of waiting) run.unit(share)
      },
      note(message) {
        const [first] = waiting
        first?.note?.(message)
      },
    }).then((open) => ({ ...open, shared: new SharedPass(open.points) }))
    const entry: Entry = {
      circuitId,
      digest: parameters.paramsDigest,
      opened,
      controller,
      waiting,
      users: 0,
      state: 'opening',
    }
    this.#entries.set(circuitId, entry)
    opened.then(
      () => {
        if (entry.state === 'opening') entry.state = 'open'
      },
      () => this.#drop(entry),
    )
    return entry
  }

  async #forget(entry: Entry): Promise<void> {
    this.#drop(entry)
    if (entry.users === 0) return await free(entry)
    const left = new Promise<void>((resolve) => {
      this.#whenLeft.set(entry, resolve)
    }).finally(() => this.#leaving.delete(left))
    this.#leaving.add(left)
  }

  readonly #whenLeft = new WeakMap<Entry, () => void>()

  #drop(entry: Entry): void {
    entry.state = 'forgotten'
    if (this.#entries.get(entry.circuitId) === entry) this.#entries.delete(entry.circuitId)
  }

  /** Resolves when what nobody wants any more has stopped and is free. */
  async #leave(entry: Entry): Promise<void> {
    if (--entry.users > 0) return
    if (entry.state === 'open') return
    // Still being opened, or forgotten, perhaps meanwhile.
    this.#drop(entry)
    entry.controller.abort()
    await free(entry)
    this.#whenLeft.get(entry)?.()
  }
}

async function free({ opened }: Entry): Promise<void> {
  try {
    const { shape, file, points } = await opened
    points.release()
    shape.release()
    await file.close()
  } catch {
    // It could not be opened: there is nothing to free.
  }
}
