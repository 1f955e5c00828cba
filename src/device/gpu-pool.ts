/**
 * The devices of an engine: who has which, who waits, and what happens when one dies.
 *
 * A partition gets an idle device in order of its job's rank. A device whose worker exits is started again in the background
 * with the next generation, a bounded number of times in a row; what it was working on rejects and is the caller's to repeat.
 */
import { GpuUnavailableError, type ProverError, toErrorObject } from '../errors.ts'
import type { DeviceClient, DeviceInfo } from './device-client.ts'

/** How one device is started, anew after each death. */
export interface DeviceSlot {
  /** For status and errors until the device has told its name. */
  readonly name: string
  start(signal: AbortSignal): Promise<DeviceClient>
}

export type DeviceState = 'starting' | 'idle' | 'proving' | 'lost' | 'excluded' | 'quarantined'

/** What a device works on. */
export interface Occupant {
  readonly jobId: string
  readonly partition: number
}

export interface DeviceRow {
  readonly ordinal: number
  readonly device: number
  readonly generation: number
  readonly name: string
  readonly state: DeviceState
  readonly reason?: string
  readonly verifyFailures: number
  readonly jobId?: string
  readonly partition?: number
  readonly busyMs?: number
}

export interface PoolObserver {
  deviceChanged(ordinal: number, state: 'ready' | 'lost' | 'excluded' | 'closed', reason?: string): void
  /** A device became idle, or is gone for good: who waits should look again. */
  availabilityChanged(): void
}

/** Restarts in a row without a finished batch in between. A worker that dies this often would die again. */
const MAX_RESTARTS = 3

interface Row {
  readonly ordinal: number
  readonly slot: DeviceSlot
  generation: number
  state: DeviceState
  reason: string | undefined
  client: DeviceClient | undefined
  info: DeviceInfo | undefined
  failuresInARow: number
  verifyFailures: number
  occupant: Occupant | undefined
  busySince: number
}

/** A row as it was when it was handed out: it may have died before the waiter runs. */
interface Held {
  readonly row: Row
  readonly client: DeviceClient
  readonly generation: number
}

interface Waiter {
  readonly rank: () => number
  readonly resolve: (held: Held) => void
  readonly reject: (reason: unknown) => void
}

/** A device held by one partition. */
export interface DeviceHold extends Disposable {
  readonly ordinal: number
  readonly client: DeviceClient
  /** A batch came back: earlier failures of this device are forgotten. */
  succeeded(): void
}

export class GpuPool {
  readonly #rows: Row[]
  readonly #observer: PoolObserver
  readonly #waiters: Waiter[] = []
  readonly #closing = new AbortController()
  #starts: Promise<void>[] = []
  #closed: Promise<void> | undefined

  private constructor(slots: readonly DeviceSlot[], observer: PoolObserver) {
    this.#observer = observer
    this.#rows = slots.map(
      (slot, ordinal): Row => ({
        ordinal,
        slot,
        generation: 0,
        state: 'starting',
        reason: undefined,
        client: undefined,
        info: undefined,
        failuresInARow: 0,
        verifyFailures: 0,
        occupant: undefined,
        busySince: 0,
      }),
    )
  }

  /**
   * Starts all devices; resolves when one is ready, the others follow.
   * @throws the last device's error if none could be started
   * @throws `signal.reason`
   */
  static async start(slots: readonly DeviceSlot[], observer: PoolObserver, signal?: AbortSignal): Promise<GpuPool> {
    const pool = new GpuPool(slots, observer)
    const abort = (): void => pool.#closing.abort(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      pool.#starts = pool.#rows.map((row) => pool.#startRow(row))
      const ready = pool.#rows.map(async (row, i) => {
        await pool.#starts[i]
        if (row.client === undefined) throw new Error(row.reason)
      })
      await Promise.any(ready).catch(() => {
        signal?.throwIfAborted()
        throw pool.#noDevice()
      })
      signal?.throwIfAborted()
      return pool
    } catch (error) {
      await pool.close()
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  get idle(): number {
    return this.#rows.filter(({ state }) => state === 'idle').length
  }

  /** Devices that work now. */
  get serving(): number {
    return this.#rows.filter(({ state }) => state === 'idle' || state === 'proving').length
  }

  /** Devices that work, or will after a restart. */
  get devices(): readonly DeviceInfo[] {
    return this.#rows.flatMap(({ info, state }) => (info === undefined || state === 'excluded' ? [] : [info]))
  }

  get clients(): readonly DeviceClient[] {
    return this.#rows.flatMap(({ client }) => (client === undefined ? [] : [client]))
  }

  rows(): DeviceRow[] {
    const now = performance.now()
    return this.#rows.map(
      ({ ordinal, generation, info, slot, state, reason, verifyFailures, occupant, busySince }) => ({
        ordinal,
        // One worker a device so far: both are counted in the same order.
        device: ordinal,
        generation,
        name: info?.name ?? slot.name,
        state,
        verifyFailures,
        ...(reason !== undefined && { reason }),
        ...(occupant !== undefined && { ...occupant, busyMs: now - busySince }),
      }),
    )
  }

  /**
   * Waits for a device.
   * @param rank the greater goes first; read anew each time
   * @throws {GpuUnavailableError} no device is left
   * @throws `signal.reason`
   */
  async acquire(occupant: Occupant, rank: () => number, signal: AbortSignal): Promise<DeviceHold> {
    signal.throwIfAborted()
    let giveUp: () => void = () => {}
    const { row, client, generation } = await new Promise<Held>((resolve, reject) => {
      const waiter: Waiter = { rank, resolve, reject }
      giveUp = () => {
        const index = this.#waiters.indexOf(waiter)
        if (index < 0) return
        this.#waiters.splice(index, 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#waiters.push(waiter)
      this.#handOut()
    }).finally(() => signal.removeEventListener('abort', giveUp))
    row.occupant = occupant
    row.busySince = performance.now()
    let held = true
    return {
      ordinal: row.ordinal,
      client,
      succeeded: () => {
        if (row.generation === generation) row.failuresInARow = 0
      },
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        if (row.occupant === occupant) row.occupant = undefined
        // After a death the row is another generation's already, or will be when it has started.
        if (row.generation !== generation || row.state !== 'proving') return
        row.state = 'idle'
        this.#handOut()
      },
    }
  }

  /** Counts a proof of this device that did not verify. */
  verifyFailed(ordinal: number): void {
    const row = this.#rows[ordinal]
    if (row !== undefined) row.verifyFailures++
  }

  /** Closes every device; those who wait for one reject. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    const gone = new GpuUnavailableError('the devices are closed')
    for (const waiter of this.#waiters.splice(0)) waiter.reject(gone)
    await Promise.allSettled(this.#starts)
    await Promise.all(this.#rows.map(({ client }) => client?.close()))
    for (const row of this.#rows) if (row.client !== undefined) this.#observer.deviceChanged(row.ordinal, 'closed')
  }

  async #startRow(row: Row): Promise<void> {
    try {
      const client = await row.slot.start(this.#closing.signal)
      if (this.#closing.signal.aborted) return await client.close()
      row.client = client
      row.info = client.info
      row.generation++
      row.state = 'idle'
      row.reason = undefined
      void client.exited.then((error) => this.#died(row, client, error))
      this.#observer.deviceChanged(row.ordinal, 'ready')
      this.#handOut()
    } catch (error) {
      if (this.#closing.signal.aborted) {
        row.reason = 'closing'
        return
      }
      this.#exclude(row, toErrorObject(error).message)
    }
  }

  #died(row: Row, client: DeviceClient, error: ProverError): void {
    if (row.client !== client || this.#closing.signal.aborted) return
    row.client = undefined
    row.state = 'lost'
    row.reason = error.message
    row.failuresInARow++
    this.#observer.deviceChanged(row.ordinal, 'lost', error.message)
    if (row.failuresInARow > MAX_RESTARTS) {
      this.#exclude(row, `${error.message}; it was started ${MAX_RESTARTS} times again in vain`)
      return
    }
    this.#starts.push(this.#startRow(row))
  }

  #exclude(row: Row, reason: string): void {
    row.state = 'excluded'
    row.reason = reason
    this.#observer.deviceChanged(row.ordinal, 'excluded', reason)
    if (this.#rows.some(({ state }) => state !== 'excluded')) return
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#noDevice())
    this.#observer.availabilityChanged()
  }

  #noDevice(): GpuUnavailableError {
    const reasons = this.#rows.map(({ slot, reason }) => `${slot.name}: ${reason ?? 'not started'}`)
    return new GpuUnavailableError(`no device is left to prove on (${reasons.join('; ')})`, {
      details: { device: this.#rows.map(({ slot }) => slot.name).join(', ') },
    })
  }

  /** Gives idle devices to the waiters of the greatest rank, those who came first among equals. */
  #handOut(): void {
    if (this.#waiters.length > 0 && this.#rows.every(({ state }) => state === 'excluded')) {
      for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#noDevice())
    }
    for (const row of this.#rows) {
      if (row.state !== 'idle' || this.#waiters.length === 0) continue
      let best = 0
      for (const [i, waiter] of this.#waiters.entries()) {
        if (waiter.rank() > (this.#waiters[best] as Waiter).rank()) best = i
      }
      const [waiter] = this.#waiters.splice(best, 1)
      row.state = 'proving'
      waiter?.resolve({ row, client: row.client as DeviceClient, generation: row.generation })
    }
    if (this.#rows.some(({ state }) => state === 'idle')) this.#observer.availabilityChanged()
  }
}
