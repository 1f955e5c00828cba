/**
 * The devices of an engine: who has which, who waits, and what happens when one dies.
 *
 * A partition gets an idle device in order of its job's rank. A device whose worker exits is started again in the background
 * with the next generation, a bounded number of times in a row; what it was working on rejects and is the caller's to repeat.
 *
 * A stand-in (the CPU device beside GPUs) is started when a partition asks for it first, and gets only those that ask for it.
 */
import { GpuUnavailableError, type ProverError, toErrorObject } from '../errors.ts'
import type { DeviceClient } from './device-client.ts'
import type { DeviceInfo } from './device-spec.ts'

/** How one device is started, anew after each death. */
export interface DeviceSlot {
  /** For status and errors until the device has told its name. */
  readonly name: string
  start(signal: AbortSignal): Promise<DeviceClient>
}

/** The device for what the others can't do. */
export interface StandInSlot extends DeviceSlot {
  readonly kind: 'cpu'
  readonly maxLog2Domain: number
}

/** Who is asked: the engine's devices, or their stand-in. */
export type DeviceRole = 'device' | 'standIn'

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
  readonly role: DeviceRole
  /** Asked for at least once: a stand-in that nobody needs is not started, nor told of. */
  wanted: boolean
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
  readonly role: DeviceRole
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
  readonly #standIn: StandInSlot | undefined
  readonly #observer: PoolObserver
  readonly #waiters: Waiter[] = []
  readonly #closing = new AbortController()
  #starts: Promise<void>[] = []
  #closed: Promise<void> | undefined

  private constructor(slots: readonly DeviceSlot[], observer: PoolObserver, standIn: StandInSlot | undefined) {
    this.#observer = observer
    this.#standIn = standIn
    this.#rows = (standIn === undefined ? slots : [...slots, standIn]).map(
      (slot, ordinal): Row => ({
        ordinal,
        role: slot === standIn ? 'standIn' : 'device',
        wanted: slot !== standIn,
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
   * Starts all devices; resolves when one is ready, the others follow. If none can be started the stand-in is.
   * @throws the last device's error if none could be started
   * @throws `signal.reason`
   */
  static async start(
    slots: readonly DeviceSlot[],
    observer: PoolObserver,
    signal?: AbortSignal,
    standIn?: StandInSlot,
  ): Promise<GpuPool> {
    const pool = new GpuPool(slots, observer, standIn)
    const abort = (): void => pool.#closing.abort(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const rows = pool.#rows.filter(({ role }) => role === 'device')
      pool.#starts = rows.map((row) => pool.#startRow(row))
      const ready = rows.map(async (row, i) => {
        await pool.#starts[i]
        if (row.client === undefined) throw new Error(row.reason)
      })
      await Promise.any(ready).catch(async () => {
        signal?.throwIfAborted()
        const row = pool.#rows.find(({ role }) => role === 'standIn')
        if (row !== undefined) await pool.#want(row)
        if (row?.client === undefined) throw pool.noDevice('device')
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

  /** Devices that could take a partition now; the stand-in counts where it is all that is left. */
  get idle(): number {
    const role = this.#left('device') ? 'device' : 'standIn'
    return this.#rows.filter((row) => row.role === role && (row.state === 'idle' || !row.wanted)).length
  }

  /** Devices that work, or will after a restart. */
  get devices(): readonly DeviceInfo[] {
    return this.#rows.flatMap(({ role, info, state }) =>
      role === 'standIn' || info === undefined || state === 'excluded' ? [] : [info],
    )
  }

  get clients(): readonly DeviceClient[] {
    return this.#rows.flatMap(({ role, client }) => (role === 'standIn' || client === undefined ? [] : [client]))
  }

  /** What stands in for the devices, unless it can't be started. */
  get standIn(): DeviceInfo | undefined {
    return this.#left('standIn') ? this.#standIn : undefined
  }

  /** Has the idle devices work on nothing in particular until the signal aborts, so that their clocks are up when a proof comes. */
  warmUp(signal: AbortSignal): void {
    for (const { state, role, client } of this.#rows) {
      if (state === 'idle' && role === 'device') void client?.warmUp(signal)
    }
  }

  rows(): DeviceRow[] {
    const now = performance.now()
    const rows = this.#rows.filter(({ wanted }) => wanted)
    return rows.map(({ ordinal, generation, info, slot, state, reason, verifyFailures, occupant, busySince }) => ({
      ordinal,
      // One worker a device so far: both are counted in the same order.
      device: ordinal,
      generation,
      name: info?.name ?? slot.name,
      state,
      verifyFailures,
      ...(reason !== undefined && { reason }),
      ...(occupant !== undefined && { ...occupant, busyMs: now - busySince }),
    }))
  }

  /**
   * Waits for a device.
   * @param rank the greater goes first; read anew each time
   * @throws {GpuUnavailableError} no device is left
   * @throws `signal.reason`
   */
  async acquire(
    occupant: Occupant,
    rank: () => number,
    signal: AbortSignal,
    role: DeviceRole = 'device',
  ): Promise<DeviceHold> {
    signal.throwIfAborted()
    for (const row of this.#rows) if (row.role === role && !row.wanted) void this.#want(row)
    let giveUp: () => void = () => {}
    const { row, client, generation } = await new Promise<Held>((resolve, reject) => {
      const waiter: Waiter = { role, rank, resolve, reject }
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

  /** Starts a stand-in, once. */
  #want(row: Row): Promise<void> {
    row.wanted = true
    const started = this.#startRow(row)
    this.#starts.push(started)
    return started
  }

  /** Whether a device of this role works, or will. */
  #left(role: DeviceRole): boolean {
    return this.#rows.some((row) => row.role === role && row.state !== 'excluded')
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
    if (this.#left(row.role)) return
    this.#refuse(row.role)
    this.#observer.availabilityChanged()
  }

  /** Nobody is to wait for what will never come. */
  #refuse(role: DeviceRole): void {
    for (const waiter of this.#waiters.filter((waiting) => waiting.role === role)) {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      waiter.reject(this.noDevice(role))
    }
  }

  /** Why no device of a role is left. */
  noDevice(role: DeviceRole): GpuUnavailableError {
    const rows = this.#rows.filter((row) => row.role === role)
    const reasons = rows.map(({ slot, reason }) => `${slot.name}: ${reason ?? 'not started'}`)
    return new GpuUnavailableError(`no device is left to prove on (${reasons.join('; ')})`, {
      details: { device: rows.map(({ slot }) => slot.name).join(', ') },
    })
  }

  /** Gives idle devices to the waiters of the greatest rank, those who came first among equals. */
  #handOut(): void {
    for (const role of ['device', 'standIn'] as const) if (!this.#left(role)) this.#refuse(role)
    for (const row of this.#rows) {
      if (row.state !== 'idle') continue
      const waiting = this.#waiters.filter(({ role }) => role === row.role)
      let [best] = waiting
      if (best === undefined) continue
      for (const waiter of waiting) if (waiter.rank() > best.rank()) best = waiter
      this.#waiters.splice(this.#waiters.indexOf(best), 1)
      row.state = 'proving'
      best.resolve({ row, client: row.client as DeviceClient, generation: row.generation })
    }
    if (this.#rows.some(({ state }) => state === 'idle')) this.#observer.availabilityChanged()
  }
}
