/**
 * The partitions on one device.
 *
 * One works, or several that share a pass over streamed points, as many as the device's memory holds. One more gets
 * ready: it sends its witness, and uses what those before it leave of the device, so that the device never waits for
 * the host between two partitions. Another seat is for what is critical while all others are less urgent: its units go
 * before theirs.
 */
import { type Claim, type ClaimKind, type DeviceRoom, URGENT_RANK } from './device-claims.ts'

type SeatKind = 'normal' | 'urgent'

/** A partition's place on a device, until it leaves. Written here only. */
export interface Seat {
  readonly claim: Claim
  readonly urgent: boolean
  readonly since: number
  /** What of the device's time was this partition's, ms: time that several worked counts in equal parts. */
  deviceMs: number
  working: boolean
  /** Called once, when it is this partition's turn to work. */
  onWorking: () => void
  /** It was the first when it left. */
  wasFirst: boolean
  /** Aborts when another device could begin with it at once: it is to leave this one and claim that. */
  readonly recall: AbortController
}

const ALONE: DeviceRoom = { share: 1, together: 1 }

/** Who is on one device: who works, and who gets ready. */
export class Seats {
  readonly #now: () => number
  /** In the order in which they came. */
  readonly #normal: Seat[] = []
  #urgent: Seat | undefined
  #countedAt = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#all.length
  }

  /** Whose units go first. */
  get first(): Seat | undefined {
    return this.#all[0]
  }

  /** One that gets ready, and does not work yet. */
  get ready(): Seat | undefined {
    return this.#normal.find(({ working, recall }) => !working && !recall.signal.aborted)
  }

  /** Where a claim may sit now, if anywhere. */
  kindFor(claim: ClaimKind): SeatKind | undefined {
    const { together, share } = claim.room ?? ALONE
    if (this.#normal.length === 0) return claim.alone && this.size > 0 ? undefined : 'normal'
    const rank = claim.rank()
    if (rank >= URGENT_RANK && this.#normal.every((other) => other.claim.rank() < rank)) {
      return this.#urgent === undefined ? 'urgent' : undefined
    }
    if (claim.alone || this.#normal.some((other) => other.claim.alone)) return undefined
    return this.#normal.length <= together && this.#taken + share <= 1 ? 'normal' : undefined
  }

  /** How many like this one would work at once. */
  roomFor(claim: ClaimKind): number {
    const kind = this.kindFor(claim)
    if (kind !== 'normal') return kind === undefined ? 0 : 1
    const { together, share } = claim.room ?? ALONE
    const fitting = Math.max(1, Math.floor((1 - this.#taken) / share))
    return Math.min(together - this.#normal.length, fitting)
  }

  take(claim: Claim): Seat {
    const urgent = this.kindFor(claim) === 'urgent'
    const since = this.#now()
    const seat: Seat = {
      claim,
      urgent,
      since,
      deviceMs: 0,
      working: false,
      onWorking: () => {},
      wasFirst: false,
      recall: new AbortController(),
    }
    if (urgent) this.#urgent = seat
    else this.#normal.push(seat)
    this.#settle()
    return seat
  }

  /** @returns whether it sat here: after {@link clear} it does not any more */
  leave(seat: Seat): boolean {
    const first = this.isFirst(seat)
    if (!this.#remove(seat)) return false
    seat.wasFirst = first
    this.#settle()
    return true
  }

  /** The device is gone. */
  clear(): void {
    const all = this.#all
    for (const seat of all) seat.wasFirst = this.isFirst(seat)
    for (const seat of all) this.#remove(seat)
  }

  /**
   * Whether a seat's partition is, or was when it left, the one that the device works on: of several that were on a
   * device when it died, this is the one to suspect.
   */
  isFirst(seat: Seat): boolean {
    return seat === this.#urgent || seat === this.#normal[0] || seat.wasFirst
  }

  /** Brings `deviceMs` up to now. */
  count(): void {
    const now = this.#now()
    const working = this.#all.filter((seat) => seat.working)
    for (const seat of working) seat.deviceMs += (now - this.#countedAt) / working.length
    this.#countedAt = now
  }

  get #all(): Seat[] {
    return this.#urgent === undefined ? [...this.#normal] : [this.#urgent, ...this.#normal]
  }

  get #taken(): number {
    return this.#normal.reduce((sum, { claim }) => sum + (claim.room ?? ALONE).share, 0)
  }

  #remove(seat: Seat): boolean {
    this.count()
    const index = this.#normal.indexOf(seat)
    if (seat !== this.#urgent && index < 0) return false
    if (seat === this.#urgent) this.#urgent = undefined
    else this.#normal.splice(index, 1)
    return true
  }

  /** Whose turn it is now, begins. */
  #settle(): void {
    this.count()
    for (const seat of this.#all) {
      const { together } = seat.claim.room ?? ALONE
      if (seat.working || !(seat.urgent || this.#normal.indexOf(seat) < together)) continue
      seat.working = true
      seat.onWorking()
    }
  }
}
