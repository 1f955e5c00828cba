/**
 * One device of the pool, through its starts and deaths.
 *
 * A device whose worker exits is started again in the background with the next generation. One that fails again and
 * again is quarantined and tried later.
 *
 *     starting → idle ⇄ proving → lost → starting …     starting → excluded (failed its first self-test)
 *     idle, proving, lost → quarantined → starting …
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { GpuUnavailableError, type ProverError, toErrorObject } from '../errors.ts'
import type { Claim, ClaimKind } from './device-claims.ts'
import type { DeviceClient } from './device-client.ts'
import { DeviceHealth } from './device-health.ts'
import type { DeviceInfo } from './device-spec.ts'
import { Seats } from './seats.ts'

/**
 * A driver that hangs after a reset never answers; compiling and testing all of its kernels takes a slow one a minute.
 */
const START_LIMIT_MS = 300_000

/** How one device is started, anew after each death. */
export interface DeviceSlot {
  /** For status and errors until the device has told its name. */
  readonly name: string
  start(signal: AbortSignal): Promise<DeviceClient>
}

/** Who is asked: the engine's devices, or their stand-in. */
export type DeviceRole = 'device' | 'standIn'

/**
 * `excluded`: failed its self-test when it was started first. `quarantined`: after repeated faults, tried again later.
 */
export type DeviceState = 'starting' | 'idle' | 'proving' | 'lost' | 'excluded' | 'quarantined'

/** One device, as the status shows it. */
export interface DeviceRow {
  /** Of its worker, stable over restarts; events name it. */
  readonly ordinal: number
  /** The device that its worker has; equal to `ordinal`, since each has one worker. */
  readonly device: number
  /** Counts its starts. */
  readonly generation: number
  readonly name: string
  readonly state: DeviceState
  /** Why it is not at work. */
  readonly reason?: string
  /** Proofs of it that were not returned. */
  readonly verifyFailures: number
  /** What it works on, of several partitions that which began first. */
  readonly jobId?: string
  readonly partition?: number
  readonly busyMs?: number
}

/** What a device tells its pool. */
export interface DeviceOwner {
  readonly closing: AbortSignal
  readonly now: () => number
  /** It serves, or serves nobody for now, or ever. */
  changed(device: PooledDevice, state: 'ready' | 'lost' | 'excluded' | 'quarantined', reason?: string): void
  /** A seat is free. */
  freed(): void
}

/** A device held by one partition. */
export interface DeviceHold extends Disposable {
  readonly ordinal: number
  readonly client: DeviceClient
  /** Its units go before those of all others on the device. */
  readonly urgent: boolean
  /** It is what the device works on, or was when the device died: others that were there had no part in it. */
  readonly first: boolean
  /** Its part of the device's time since it works, ms. */
  readonly deviceMs: number
  /**
   * Aborts if it does not work yet and another device could begin with it at once: it is to be let go of, and claimed
   * anew.
   */
  readonly recall: AbortSignal
  /** Calls back when it is this partition's turn to work, at once if it is; until then it gets ready. */
  whenWorking(callback: () => void): void
  /** A unit ended. */
  unit(): void
  /** For how long no unit of any partition on the device has ended, ms. */
  silentMs(): number
  /** A batch came back: earlier failures of this device are forgotten. */
  succeeded(): void
  /** Its memory did not suffice: from now on others are asked first for this circuit. */
  outOfMemory(): void
  /** Ends a device that hangs; what it works on rejects. */
  end(): void
}

/** A place in the pool: the device that is there now, its seats, and what is known of its faults. */
export class PooledDevice {
  readonly ordinal: number
  readonly role: DeviceRole
  readonly slot: DeviceSlot
  readonly seats: Seats
  readonly #owner: DeviceOwner
  readonly #health = new DeviceHealth()
  /** Starts and ends that are under way. */
  readonly #pending = new Set<Promise<void>>()
  #wanted: boolean
  #generation = 0
  #state: DeviceState = 'starting'
  #reason: string | undefined
  #cause: unknown
  #client: DeviceClient | undefined
  #info: DeviceInfo | undefined
  /** Circuits that its memory was too small for, since it was started. */
  readonly #tooLarge = new Set<CircuitId>()
  /** When a unit of any seat ended last. */
  #lastUnitAt = 0
  #timer: NodeJS.Timeout | undefined
  /** The start whose device this takes; one that a quarantine overtook closes what it opened. */
  #latestStart: object | undefined

  constructor(ordinal: number, role: DeviceRole, slot: DeviceSlot, owner: DeviceOwner) {
    this.ordinal = ordinal
    this.role = role
    this.slot = slot
    this.seats = new Seats(owner.now)
    this.#owner = owner
    this.#wanted = role === 'device'
  }

  /** Asked for at least once: a stand-in that nobody needs is not started, nor told of. */
  get wanted(): boolean {
    return this.#wanted
  }

  get client(): DeviceClient | undefined {
    return this.#client
  }

  get info(): DeviceInfo | undefined {
    return this.#info
  }

  get state(): DeviceState {
    return this.#state
  }

  get serving(): boolean {
    return this.#state === 'idle' || this.#state === 'proving'
  }

  /** It works, or will before long. */
  get left(): boolean {
    return this.#state !== 'excluded' && this.#state !== 'quarantined'
  }

  /** Why it does not serve. */
  get reason(): string {
    return this.#reason ?? (this.serving ? 'it is too small' : 'not started')
  }

  /** What it was that {@link reason} tells of, where that was an error. */
  get cause(): unknown {
    return this.#cause
  }

  get row(): DeviceRow {
    const seat = this.seats.first
    return {
      ordinal: this.ordinal,
      // One worker a device: both are counted in the same order.
      device: this.ordinal,
      generation: this.#generation,
      name: this.#info?.name ?? this.slot.name,
      state: this.#state,
      verifyFailures: this.#health.verifyFailures,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      ...(seat !== undefined && { ...seat.claim.occupant, busyMs: this.#owner.now() - seat.since }),
    }
  }

  /** Whether the circuit's domain is one that the device reaches; of one that was never started nobody knows. */
  reaches({ log2Domain }: Pick<ClaimKind, 'log2Domain'>): boolean {
    return this.#info === undefined || this.#info.maxLog2Domain >= log2Domain
  }

  /** Whether its memory did not suffice for the circuit when it was tried last. */
  isTooSmall({ circuitId }: ClaimKind): boolean {
    return this.#tooLarge.has(circuitId)
  }

  /** Starts the device; resolves when it serves or does not. */
  start(): Promise<void> {
    this.#wanted = true
    return this.#track(this.#start())
  }

  /** Gives a claim its seat. To be called on a device that serves and has one. */
  hold(claim: Claim): DeviceHold {
    const { seats } = this
    const seat = seats.take(claim)
    const generation = this.#generation
    const client = this.#client as DeviceClient
    const unit = (): void => {
      this.#lastUnitAt = this.#owner.now()
    }
    this.#state = 'proving'
    unit()
    return {
      ordinal: this.ordinal,
      client,
      urgent: seat.urgent,
      get first() {
        return seats.isFirst(seat)
      },
      get deviceMs() {
        seats.count()
        return seat.deviceMs
      },
      recall: seat.recall.signal,
      whenWorking: (callback) => {
        if (seat.working) callback()
        else seat.onWorking = callback
      },
      unit,
      silentMs: () => this.#owner.now() - this.#lastUnitAt,
      succeeded: () => {
        if (this.#generation !== generation) return
        this.#health.succeeded()
        this.#tooLarge.delete(claim.circuitId)
      },
      outOfMemory: () => {
        if (this.#generation === generation) this.#tooLarge.add(claim.circuitId)
      },
      end: () => {
        // From now on nobody else gets it; its exit decides what comes next.
        if (this.#client === client) this.#state = 'lost'
        void client.close()
      },
      [Symbol.dispose]: () => {
        // After a death it sits here no more.
        if (!seats.leave(seat)) return
        if (seats.size === 0 && this.#state === 'proving') this.#state = 'idle'
        this.#owner.freed()
      },
    }
  }

  /**
   * A proof of this device did not verify. What the device holds of the circuit may be what is wrong: it drops that,
   * and reads it anew for the next proof.
   */
  verifyFailed(circuitId: CircuitId): void {
    this.#client?.forget(circuitId).catch(() => {})
    if (this.#health.wrong()) this.#quarantine('its proofs do not verify')
  }

  /** A proof of this device holds. */
  verified(): void {
    this.#health.verified()
  }

  /** Ends it for good. The pool's signal has aborted by then. @returns whether there was a device */
  async close(): Promise<boolean> {
    clearTimeout(this.#timer)
    await Promise.allSettled(this.#pending)
    await this.#client?.close()
    return this.#client !== undefined
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#pending.delete(tracked))
    this.#pending.add(tracked)
    return tracked
  }

  async #start(): Promise<void> {
    const start = {}
    const { closing } = this.#owner
    this.#latestStart = start
    using limit = startLimit(closing, this.slot.name)
    try {
      const client = await this.slot.start(limit.signal)
      // Quarantined meanwhile: what comes after that starts a device of its own.
      if (closing.aborted || this.#latestStart !== start) return await client.close()
      this.#client = client
      this.#info = client.info
      this.#tooLarge.clear()
      this.#generation++
      this.#state = 'idle'
      this.#reason = undefined
      this.#cause = undefined
      void client.exited.then((error) => this.#died(client, error))
      this.#owner.changed(this, 'ready')
    } catch (error) {
      if (closing.aborted) {
        this.#reason = 'closing'
        return
      }
      if (this.#latestStart !== start) return
      const { message } = toErrorObject(error)
      if (this.#generation > 0) return this.#quarantine(message, error)
      this.#leave('excluded', message, error)
    }
  }

  #died(client: DeviceClient, error: ProverError): void {
    if (this.#client !== client || this.#owner.closing.aborted) return
    this.#client = undefined
    const several = this.seats.size > 1
    this.seats.clear()
    this.#leave('lost', error.message, error)
    // Of several on it one may have ended it each time: each is tried again alone, and that counts.
    if (!several && this.#health.fault()) this.#quarantine(`${error.message}; it was started again in vain`, error)
    else void this.start()
  }

  /** Takes the device out of service, to be tried again later. */
  #quarantine(reason: string, cause?: unknown): void {
    if (this.#state === 'quarantined' || this.#owner.closing.aborted) return
    const client = this.#client
    this.#client = undefined
    this.#latestStart = undefined
    this.seats.clear()
    if (client !== undefined) void this.#track(client.close())
    this.#timer = setTimeout(() => {
      this.#state = 'starting'
      void this.start()
    }, this.#health.quarantine())
    this.#leave('quarantined', reason, cause)
  }

  #leave(state: 'lost' | 'excluded' | 'quarantined', reason: string, cause: unknown): void {
    this.#state = state
    this.#reason = reason
    this.#cause = cause
    this.#owner.changed(this, state, reason)
  }
}

/** Aborts when the pool closes, or when a device takes too long to start. */
function startLimit(closing: AbortSignal, device: string): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const close = (): void => controller.abort(closing.reason)
  const late = (): void =>
    controller.abort(
      new GpuUnavailableError(`it did not start within ${START_LIMIT_MS / 1000} s`, { details: { device } }),
    )
  const timer = setTimeout(late, START_LIMIT_MS)
  closing.addEventListener('abort', close, { once: true })
  if (closing.aborted) close()
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer)
      closing.removeEventListener('abort', close)
    },
  }
}
