const TARGET_MS = 80
const START = 2 ** 16
const LEAST = 2 ** 12
const MOST = 2 ** 25

/**
 * How much work an adapter gets at a time. It starts low enough for a slow adapter and grows as units turn out to be short, so that
 * no unit much exceeds {@link TARGET_MS} on any: the device stays usable for others, and an abort is heard.
 */
export class UnitPace {
  /** Work of a unit; one is an addition in G1. */
  limit: number = START

  /** Takes a unit's measure. */
  note(work: number, ms: number): void {
    // A short unit says little: it may have waited for its latency only.
    if (ms > TARGET_MS) this.limit = Math.max(LEAST, Math.floor((work * TARGET_MS) / ms))
    else if (2 * work >= this.limit) {
      this.limit = Math.min(MOST, Math.floor(Math.max(this.limit, work * Math.min(8, TARGET_MS / Math.max(ms, 1)))))
    }
  }
}
