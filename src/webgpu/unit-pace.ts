const TARGET_MS = 80
/** Work of a unit on an adapter that nothing is known of. */
export const START: number = 2 ** 16
const LEAST = 2 ** 12
const MOST = 2 ** 25
const GROWTH = 8

/**
 * How much work an adapter gets at a time. It starts low enough for a slow adapter and grows as units turn out to be
 * short, so that no unit much exceeds {@link TARGET_MS} on any: the device stays usable for others, and an abort is
 * heard.
 */
export class UnitPace {
  /** Work of a unit; one is an addition in G1. */
  limit: number = START

  /** Starts anew from so much work. */
  start(limit: number): void {
    this.limit = Math.max(LEAST, Math.min(MOST, limit))
  }

  /** Takes a unit's measure. A short one tells less than the adapter can do, since latency is in it, but never more. */
  note(work: number, ms: number): void {
    const fitting = Math.floor((work * TARGET_MS) / Math.max(ms, 1))
    if (ms > TARGET_MS) this.limit = Math.max(LEAST, fitting)
    else this.limit = Math.min(MOST, Math.max(this.limit, Math.min(GROWTH * this.limit, fitting)))
  }
}
