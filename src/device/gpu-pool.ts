/**
 * The devices of an engine: who has which, and who waits. Seats are given in the order of the claims; what a device
 * does when it fails is in `pooled-device.ts`, who may share one in `seats.ts`. What a device was working on when it
 * failed rejects, and is the caller's to repeat.
 *
 * A stand-in (the CPU device beside GPUs) is started when a partition asks for it first, and gets only those that ask
 * for it.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import { GpuUnavailableError, WorkerExitedError } from '../errors.ts'
import { allowManyListeners, orAborted } from '../params/waiting.ts'
import { type Claim, type ClaimKind, compareClaims } from './device-claims.ts'
import type { DeviceClient } from './device-client.ts'
import type { DeviceInfo } from './device-spec.ts'
import { type DeviceHold, type DeviceRole, type DeviceRow, type DeviceSlot, PooledDevice } from './pooled-device.ts'

export type { DeviceHold, DeviceRole, DeviceRow, DeviceSlot }

/** The device for what the others can't do. */
export interface StandInSlot extends DeviceSlot {
  readonly kind: 'cpu'
  readonly maxLog2Domain: number
}

/** What a pool may have beside its devices. */
export interface PoolOptions {
  readonly signal?: AbortSignal | undefined
  readonly standIn?: StandInSlot | undefined
  /** Monotonic, ms. @default `performance.now` */
  readonly now?: (() => number) | undefined
}

/** Who is told what becomes of the devices. */
export interface PoolObserver {
  deviceChanged(ordinal: number, state: 'ready' | 'lost' | 'excluded' | 'quarantined' | 'closed', reason?: string): void
  /** A device was started, the first time or again after it died: it has nothing of any circuit yet. */
  deviceStarted(client: DeviceClient, again: boolean): void
  /** A device has a free seat, or is gone for good: who waits should look again. */
  availabilityChanged(): void
}

interface Waiter {
  readonly role: DeviceRole
  readonly claim: Claim
  readonly resolve: (hold: DeviceHold) => void
  readonly reject: (reason: unknown) => void
}

/** The devices of an engine: starts them, hands them out, and starts them again when they die. */
export class GpuPool {
  readonly #devices: PooledDevice[]
  readonly #standIn: StandInSlot | undefined
  readonly #observer: PoolObserver
  readonly #waiters: Waiter[] = []
  /** Told when a device begins or ceases to serve. */
  readonly #watchers = new Set<() => void>()
  readonly #closing = new AbortController()
  #closed: Promise<void> | undefined

  private constructor(slots: readonly DeviceSlot[], observer: PoolObserver, { standIn, now }: PoolOptions) {
    this.#observer = observer
    this.#standIn = standIn
    allowManyListeners(this.#closing.signal)
    const owner = {
      closing: this.#closing.signal,
      now: now ?? (() => performance.now()),
      changed: (device: PooledDevice, state: 'ready' | 'lost' | 'excluded' | 'quarantined', reason?: string) =>
        this.#changed(device, state, reason),
      freed: () => this.#handOut(),
    }
    this.#devices = (standIn === undefined ? slots : [...slots, standIn]).map(
      (slot, ordinal) => new PooledDevice(ordinal, slot === standIn ? 'standIn' : 'device', slot, owner),
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
      const ready = pool.#of('device').map(async (device) => {
        await device.start()
        if (device.client === undefined) throw new Error(device.reason)
      })
      await Promise.any(ready).catch(async () => {
        signal?.throwIfAborted()
        const [standIn] = pool.#of('standIn')
        await standIn?.start()
        if (standIn?.client === undefined) throw pool.noDevice('device')
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
  get #usable(): PooledDevice[] {
    return this.#of(this.#left('device') ? 'device' : 'standIn')
  }

  /** Devices that work now. */
  get serving(): number {
    return this.#usable.filter(({ serving, wanted }) => serving || !wanted).length
  }

  /**
   * Partitions of this kind that devices, or their stand-in, would work on at once; one where no device is left for it,
   * which asks for a device and is refused.
   */
  free(claim: ClaimKind, role: DeviceRole = 'device'): number {
    const devices = role === 'device' ? this.#usable : this.#of(role)
    if (!devices.some((device) => device.left && device.reaches(claim))) return 1
    const counts = devices.map((device) => {
      if (!device.wanted) return 1
      return device.serving && device.reaches(claim) ? device.seats.roomFor(claim) : 0
    })
    return counts.reduce((sum, count) => sum + count, 0)
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

  /**
   * Has the idle devices work on nothing in particular until the signal aborts, so that their clocks are up when a
   * proof comes.
   */
  warmUp(signal: AbortSignal): void {
    for (const { state, client } of this.#of('device')) if (state === 'idle') void client?.warmUp(signal)
  }

  rows(): DeviceRow[] {
    return this.#devices.filter(({ wanted }) => wanted).map(({ row }) => row)
  }

  /**
   * Waits for a device.
   * @throws {GpuUnavailableError} no device is left that could do it
   * @throws `signal.reason`
   */
  async acquire(claim: Claim, signal: AbortSignal, role: DeviceRole = 'device'): Promise<DeviceHold> {
    signal.throwIfAborted()
    for (const device of this.#of(role)) if (!device.wanted) void device.start()
    let giveUp: () => void = () => {}
    try {
      return await new Promise<DeviceHold>((resolve, reject) => {
        const waiter: Waiter = { role, claim, resolve, reject }
        giveUp = () => {
          const index = this.#waiters.indexOf(waiter)
          if (index < 0) return
          this.#waiters.splice(index, 1)
          reject(signal.reason)
          // It may have kept a seat from those behind it.
          this.#handOut()
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
   * Waits until a device serves that reaches a circuit's domain.
   * @throws {GpuUnavailableError} none is left that would before long
   * @throws `signal.reason`
   */
  async untilServing(circuit: Pick<ClaimKind, 'log2Domain'>, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const able = this.#of('device').filter((device) => device.left && device.reaches(circuit))
      if (able.some(({ serving }) => serving)) return
      if (able.length === 0 || this.#closing.signal.aborted) throw this.noDevice('device')
      let tell: () => void = () => {}
      const changed = new Promise<void>((resolve) => {
        tell = resolve
      })
      this.#watchers.add(tell)
      try {
        await orAborted(changed, signal)
      } finally {
        this.#watchers.delete(tell)
      }
    }
  }

  /** A proof of this device did not verify: it drops the circuit, and is out of service if that was not the first. */
  verifyFailed(ordinal: number, circuitId: CircuitId): void {
    this.#devices[ordinal]?.verifyFailed(circuitId)
  }

  /** A proof of this device holds. */
  verified(ordinal: number): void {
    this.#devices[ordinal]?.verified()
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
    for (const tell of this.#watchers) tell()
    const opened = await Promise.all(this.#devices.map((device) => device.close()))
    for (const [ordinal, was] of opened.entries()) if (was) this.#observer.deviceChanged(ordinal, 'closed')
  }

  /** Why no device of a role is left. */
  noDevice(role: DeviceRole): GpuUnavailableError {
    const devices = this.#of(role)
    const reasons = devices.map(({ slot, reason }) => `${slot.name}: ${reason}`)
    return new GpuUnavailableError(`no device is left to prove on (${reasons.join('; ')})`, {
      details: { device: devices.map(({ slot }) => slot.name).join(', ') },
      cause: devices.map(({ cause }) => cause).find((cause) => cause !== undefined),
    })
  }

  #of(role: DeviceRole): PooledDevice[] {
    return this.#devices.filter((device) => device.role === role)
  }

  /** Whether a device of this role works, or will before long. */
  #left(role: DeviceRole): boolean {
    return this.#of(role).some(({ left }) => left)
  }

  #changed(device: PooledDevice, state: 'ready' | 'lost' | 'excluded' | 'quarantined', reason?: string): void {
    this.#observer.deviceChanged(device.ordinal, state, reason)
    for (const tell of this.#watchers) tell()
    if (state === 'ready') {
      this.#observer.deviceStarted(device.client as DeviceClient, device.row.generation > 1)
      this.#handOut()
    }
    if (device.left) return
    this.#refuseHopeless()
    this.#observer.availabilityChanged()
  }

  /** With no device left that could do it a claim would wait for ever. */
  #refuseHopeless(): void {
    for (const waiter of [...this.#waiters]) {
      const { role, claim } = waiter
      if (this.#of(role).some((device) => device.left && device.reaches(claim))) continue
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      waiter.reject(this.noDevice(role))
    }
  }

  /** Gives free seats to those who wait, in their order. */
  #handOut(): void {
    this.#refuseHopeless()
    const passed: Waiter[] = []
    for (const waiter of [...this.#waiters].sort((a, b) => compareClaims(a.claim, b.claim))) {
      const device = this.#deviceFor(waiter, passed)
      if (device === undefined) {
        passed.push(waiter)
        continue
      }
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      waiter.resolve(device.hold(waiter.claim))
    }
    this.#recall()
    this.#observer.availabilityChanged()
  }

  /** What gets ready behind another partition goes to a device that has nothing to do. */
  #recall(): void {
    const idle = this.#devices.filter(({ state }) => state === 'idle')
    for (const device of idle) {
      const ready = this.#of(device.role).flatMap(({ seats }) => seats.ready ?? [])
      const [seat] = ready
        .filter(({ claim }) => claim.avoid !== device.ordinal && device.reaches(claim) && !device.isTooSmall(claim))
        .sort((a, b) => compareClaims(a.claim, b.claim))
      seat?.recall.abort(new WorkerExitedError('another device can begin with it'))
    }
  }

  /**
   * The device with the fewest partitions on it; one that has failed this partition or is too small only if there is no
   * other. A seat that somebody waits for who goes before is nobody else's, however well it would fit: those who need
   * more room would never get it.
   */
  #deviceFor({ claim, role }: Waiter, passed: readonly Waiter[]): PooledDevice | undefined {
    const enough = this.#enough(claim, role)
    const others = enough.filter(({ serving, ordinal }) => serving && ordinal !== claim.avoid)
    const free = (others.length > 0 ? others : enough).filter((device) => {
      const kind = device.serving ? device.seats.kindFor(claim) : undefined
      return kind === 'urgent' || (kind === 'normal' && !passed.some((waiter) => this.#waitsFor(waiter, device)))
    })
    const [first, ...rest] = free
    return rest.reduce(
      (best, other) => (best !== undefined && other.seats.size < best.seats.size ? other : best),
      first,
    )
  }

  /** Devices that are large enough for a claim; where none is left, those whose memory did not suffice. */
  #enough(claim: ClaimKind, role: DeviceRole): PooledDevice[] {
    const able = this.#of(role).filter((device) => device.reaches(claim))
    const large = able.filter((device) => device.left && !device.isTooSmall(claim))
    return large.length > 0 ? large : able
  }

  #waitsFor({ role, claim }: Waiter, device: PooledDevice): boolean {
    return claim.avoid !== device.ordinal && this.#enough(claim, role).includes(device)
  }
}
