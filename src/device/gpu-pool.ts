/**
 * The devices of an engine: who has which, who waits, and what happens when one fails.
 *
 * A device has two seats. In the first sits one partition after another, in order of their jobs. The second is for what is critical
 * while the first is taken: the device then works on its units first and goes on with the other's in between and afterwards.
 *
 * A device whose worker exits is started again in the background with the next generation; what it was working on rejects and is the
 * caller's to repeat. One that fails again and again is quarantined and tried later.
 *
 * A stand-in (the CPU device beside GPUs) is started when a partition asks for it first, and gets only those that ask for it.
 *
 *     starting → idle ⇄ proving → lost → starting …     starting → excluded (failed its first self-test)
 *     idle, proving, lost → quarantined → starting …
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { GpuUnavailableError, type ProverError, toErrorObject } from '../errors.ts'
import { type Claim, compareClaims, URGENT_RANK } from './device-claims.ts'
import type { DeviceClient } from './device-client.ts'
import { DeviceHealth } from './device-health.ts'
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

/** What a pool may have beside its devices. */
export interface PoolOptions {
  readonly signal?: AbortSignal | undefined
  readonly standIn?: StandInSlot | undefined
  /** Monotonic, ms. @default `performance.now` */
  readonly now?: (() => number) | undefined
}

export type DeviceState = 'starting' | 'idle' | 'proving' | 'lost' | 'excluded' | 'quarantined'

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
  deviceChanged(ordinal: number, state: 'ready' | 'lost' | 'excluded' | 'quarantined' | 'closed', reason?: string): void
  /** A device became idle, or is gone for good: who waits should look again. */
  availabilityChanged(): void
}

type SeatName = 'main' | 'urgent'

interface Seat {
  readonly claim: Claim
  readonly since: number
}

interface Row {
  readonly ordinal: number
  readonly role: DeviceRole
  /** Asked for at least once: a stand-in that nobody needs is not started, nor told of. */
  wanted: boolean
  readonly slot: DeviceSlot
  readonly health: DeviceHealth
  readonly seats: Record<SeatName, Seat | undefined>
  generation: number
  state: DeviceState
  reason: string | undefined
  client: DeviceClient | undefined
  info: DeviceInfo | undefined
  /** Circuits that its memory was too small for, since it was started. */
  readonly tooLarge: Set<string>
  /** When a unit of either seat ended last. */
  lastUnitAt: number
  timer: NodeJS.Timeout | undefined
  /** The start whose device the row takes; one that a quarantine overtook closes what it opened. */
  latestStart: object | undefined
}

interface Waiter {
  readonly role: DeviceRole
  readonly claim: Claim
  readonly resolve: (hold: DeviceHold) => void
  readonly reject: (reason: unknown) => void
}

/** A device held by one partition. */
export interface DeviceHold extends Disposable {
  readonly ordinal: number
  readonly client: DeviceClient
  /** In the second seat: its units go before those of the first. */
  readonly urgent: boolean
  /** A unit ended. */
  unit(): void
  /** For how long no unit has ended, of either seat, ms. */
  silentMs(): number
  /** A batch came back: earlier failures of this device are forgotten. */
  succeeded(): void
  /** Its memory did not suffice: from now on others are asked first for this circuit. */
  outOfMemory(): void
  /** Ends a device that hangs; what it works on rejects. */
  end(): void
}

export class GpuPool {
  readonly #rows: Row[]
  readonly #standIn: StandInSlot | undefined
  readonly #observer: PoolObserver
  readonly #now: () => number
  readonly #waiters: Waiter[] = []
  readonly #closing = new AbortController()
  #starts: Promise<void>[] = []
  #closed: Promise<void> | undefined

  private constructor(slots: readonly DeviceSlot[], observer: PoolObserver, { standIn, now }: PoolOptions) {
    this.#observer = observer
    this.#standIn = standIn
    this.#now = now ?? (() => performance.now())
    this.#rows = (standIn === undefined ? slots : [...slots, standIn]).map(
      (slot, ordinal): Row => ({
        ordinal,
        role: slot === standIn ? 'standIn' : 'device',
        wanted: slot !== standIn,
        slot,
        health: new DeviceHealth(),
        seats: { main: undefined, urgent: undefined },
        generation: 0,
        state: 'starting',
        reason: undefined,
        client: undefined,
        info: undefined,
        tooLarge: new Set(),
        lastUnitAt: 0,
        timer: undefined,
        latestStart: undefined,
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
    options: PoolOptions = {},
  ): Promise<GpuPool> {
    const { signal } = options
    const pool = new GpuPool(slots, observer, options)
    const abort = (): void => pool.#closing.abort(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const rows = pool.#of('device')
      pool.#starts = rows.map((row) => pool.#startRow(row))
      const ready = rows.map(async (row, i) => {
        await pool.#starts[i]
        if (row.client === undefined) throw new Error(row.reason)
      })
      await Promise.any(ready).catch(async () => {
        signal?.throwIfAborted()
        const [row] = pool.#of('standIn')
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

  /** The devices; where none is left, what stands in for them. */
  get #usable(): Row[] {
    return this.#of(this.#left('device') ? 'device' : 'standIn')
  }

  get idle(): number {
    return this.#usable.filter(({ state, wanted }) => state === 'idle' || !wanted).length
  }

  /** Devices that work now. */
  get serving(): number {
    return this.#usable.filter((row) => isServing(row) || !row.wanted).length
  }

  /** Devices that would take a partition of this rank at once. */
  free(rank: number): number {
    return this.#usable.filter((row) => !row.wanted || seatFor(row, rank) !== undefined).length
  }

  /** Devices that work, or will after a restart. */
  get devices(): readonly DeviceInfo[] {
    return this.#of('device').flatMap(({ info, state }) => (info === undefined || state === 'excluded' ? [] : [info]))
  }

  get clients(): readonly DeviceClient[] {
    return this.#of('device').flatMap(({ client }) => (client === undefined ? [] : [client]))
  }

  /** Whether any device works, or will before long. */
  get hasDevices(): boolean {
    return this.#left('device')
  }

  /** What stands in for the devices, unless it can't be started. */
  get standIn(): DeviceInfo | undefined {
    return this.#left('standIn') ? this.#standIn : undefined
  }

  /** Has the idle devices work on nothing in particular until the signal aborts, so that their clocks are up when a proof comes. */
  warmUp(signal: AbortSignal): void {
    for (const { state, client } of this.#of('device')) if (state === 'idle') void client?.warmUp(signal)
  }

  rows(): DeviceRow[] {
    const now = this.#now()
    const rows = this.#rows.filter(({ wanted }) => wanted)
    return rows.map(({ ordinal, generation, info, slot, state, reason, health, seats }) => {
      const seat = seats.urgent ?? seats.main
      return {
        ordinal,
        // One worker a device: both are counted in the same order.
        device: ordinal,
        generation,
        name: info?.name ?? slot.name,
        state,
        verifyFailures: health.verifyFailures,
        ...(reason !== undefined && { reason }),
        ...(seat !== undefined && { ...seat.claim.occupant, busyMs: now - seat.since }),
      }
    })
  }

  /**
   * Waits for a device.
   * @throws {GpuUnavailableError} no device is left
   * @throws `signal.reason`
   */
  async acquire(claim: Claim, signal: AbortSignal, role: DeviceRole = 'device'): Promise<DeviceHold> {
    signal.throwIfAborted()
    for (const row of this.#of(role)) if (!row.wanted) void this.#want(row)
    let giveUp: () => void = () => {}
    try {
      return await new Promise<DeviceHold>((resolve, reject) => {
        const waiter: Waiter = { role, claim, resolve, reject }
        giveUp = () => {
          const index = this.#waiters.indexOf(waiter)
          if (index < 0) return
          this.#waiters.splice(index, 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', giveUp, { once: true })
        this.#waiters.push(waiter)
        this.#handOut()
      })
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }

  /**
   * Counts a proof of this device that did not verify. What the device holds of the circuit may be what is wrong: it drops that, and reads it
   * anew for the next proof.
   */
  verifyFailed(ordinal: number, circuitId: CircuitId): void {
    const row = this.#rows[ordinal]
    row?.client?.forget(circuitId).catch(() => {})
    if (row?.health.wrong()) this.#quarantine(row, 'its proofs do not verify')
  }

  /** A proof of this device holds. */
  verified(ordinal: number): void {
    this.#rows[ordinal]?.health.verified()
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
    for (const { timer } of this.#rows) clearTimeout(timer)
    await Promise.allSettled(this.#starts)
    await Promise.all(this.#rows.map(({ client }) => client?.close()))
    for (const row of this.#rows) if (row.client !== undefined) this.#observer.deviceChanged(row.ordinal, 'closed')
  }

  #of(role: DeviceRole): Row[] {
    return this.#rows.filter((row) => row.role === role)
  }

  /** Whether a device of this role works, or will before long. */
  #left(role: DeviceRole): boolean {
    return this.#of(role).some(isLeft)
  }

  /** Starts a stand-in, once. */
  #want(row: Row): Promise<void> {
    row.wanted = true
    const started = this.#startRow(row)
    this.#starts.push(started)
    return started
  }

  async #startRow(row: Row): Promise<void> {
    const start = {}
    row.latestStart = start
    try {
      const client = await row.slot.start(this.#closing.signal)
      // Quarantined meanwhile: what comes after that starts a device of its own.
      if (this.#closing.signal.aborted || row.latestStart !== start) return await client.close()
      row.client = client
      row.info = client.info
      row.tooLarge.clear()
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
      if (row.latestStart !== start) return
      const { message } = toErrorObject(error)
      if (row.generation === 0) this.#leave(row, 'excluded', message)
      else this.#quarantine(row, message)
    }
  }

  #died(row: Row, client: DeviceClient, error: ProverError): void {
    if (row.client !== client || this.#closing.signal.aborted) return
    row.client = undefined
    this.#empty(row)
    row.state = 'lost'
    row.reason = error.message
    this.#observer.deviceChanged(row.ordinal, 'lost', error.message)
    if (row.health.fault()) this.#quarantine(row, `${error.message}; it was started again in vain`)
    else this.#restart(row)
  }

  #restart(row: Row): void {
    this.#starts.push(this.#startRow(row))
  }

  /** Takes a device out of service, to be tried again later. */
  #quarantine(row: Row, reason: string): void {
    if (row.state === 'quarantined' || this.#closing.signal.aborted) return
    const { client } = row
    row.client = undefined
    row.latestStart = undefined
    this.#empty(row)
    if (client !== undefined) this.#starts.push(client.close())
    const ms = row.health.quarantine()
    row.timer = setTimeout(() => {
      row.state = 'starting'
      this.#restart(row)
    }, ms)
    this.#leave(row, 'quarantined', reason)
  }

  #empty(row: Row): void {
    row.seats.main = undefined
    row.seats.urgent = undefined
  }

  /** The device serves nobody any more, or not for now. */
  #leave(row: Row, state: 'excluded' | 'quarantined', reason: string): void {
    row.state = state
    row.reason = reason
    this.#observer.deviceChanged(row.ordinal, state, reason)
    if (this.#refuseIfNoneLeft(row.role)) this.#observer.availabilityChanged()
  }

  /** With no device left those who wait would wait for ever, and so would who needs a larger one than those left. */
  #refuseIfNoneLeft(role: DeviceRole): boolean {
    const left = this.#of(role).filter(isLeft)
    for (const waiter of this.#waiters.filter((waiting) => waiting.role === role)) {
      if (left.some((row) => reaches(row, waiter.claim))) continue
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      waiter.reject(this.noDevice(role))
    }
    return left.length === 0
  }

  /** Why no device of a role is left. */
  noDevice(role: DeviceRole): GpuUnavailableError {
    const rows = this.#of(role)
    const reasons = rows.map(({ slot, reason }) => `${slot.name}: ${reason ?? 'not started'}`)
    return new GpuUnavailableError(`no device is left to prove on (${reasons.join('; ')})`, {
      details: { device: rows.map(({ slot }) => slot.name).join(', ') },
    })
  }

  /** Gives free seats to those who wait, in their order. */
  #handOut(): void {
    this.#refuseIfNoneLeft('device')
    this.#refuseIfNoneLeft('standIn')
    for (const waiter of [...this.#waiters].sort((a, b) => compareClaims(a.claim, b.claim))) {
      const row = this.#rowFor(waiter)
      if (row === undefined) continue
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      waiter.resolve(this.#hold(row, waiter.claim))
    }
    if (this.idle > 0) this.#observer.availabilityChanged()
  }

  /** An idle device before one that works, and one that has failed this partition or is too small only if there is no other. */
  #rowFor({ claim, role }: Waiter): Row | undefined {
    const rows = this.#of(role).filter((row) => reaches(row, claim))
    const large = rows.filter((row) => isLeft(row) && !row.tooLarge.has(claim.circuitId))
    const enough = large.length > 0 ? large : rows
    const others = enough.filter((row) => isServing(row) && row.ordinal !== claim.avoid)
    const candidates = others.length > 0 ? others : enough
    const free = candidates.filter((row) => seatFor(row, claim.rank()) !== undefined)
    return free.find(({ state }) => state === 'idle') ?? free[0]
  }

  #hold(row: Row, claim: Claim): DeviceHold {
    const name = seatFor(row, claim.rank()) as SeatName
    const seat: Seat = { claim, since: this.#now() }
    const { generation } = row
    const client = row.client as DeviceClient
    const unit = (): void => {
      row.lastUnitAt = this.#now()
    }
    row.seats[name] = seat
    row.state = 'proving'
    unit()
    return {
      ordinal: row.ordinal,
      client,
      urgent: name === 'urgent',
      unit,
      silentMs: () => this.#now() - row.lastUnitAt,
      succeeded: () => {
        if (row.generation !== generation) return
        row.health.succeeded()
        row.tooLarge.delete(claim.circuitId)
      },
      outOfMemory: () => {
        if (row.generation === generation) row.tooLarge.add(claim.circuitId)
      },
      end: () => {
        // From now on nobody else gets it; its exit decides what comes next.
        if (row.client === client) row.state = 'lost'
        void client.close()
      },
      [Symbol.dispose]: () => {
        // After a death the seat is empty or another generation's.
        if (row.seats[name] !== seat) return
        row.seats[name] = undefined
        const empty = row.seats.main === undefined && row.seats.urgent === undefined
        if (empty && row.state === 'proving') row.state = 'idle'
        this.#handOut()
      },
    }
  }
}

/** Works, or will before long. */
function isLeft({ state }: Row): boolean {
  return state !== 'excluded' && state !== 'quarantined'
}

/** Whether the circuit's domain is one that the device reaches; of one that was never started nobody knows. */
function reaches({ info }: Row, { log2Domain }: Claim): boolean {
  return info === undefined || info.maxLog2Domain >= log2Domain
}

function isServing({ state }: Row): boolean {
  return state === 'idle' || state === 'proving'
}

/** Where on a device a claim of this rank may sit now. */
function seatFor(row: Row, rank: number): SeatName | undefined {
  if (!isServing(row)) return undefined
  const { main, urgent } = row.seats
  if (main === undefined) return 'main'
  return rank >= URGENT_RANK && urgent === undefined && main.claim.rank() < rank ? 'urgent' : undefined
}
