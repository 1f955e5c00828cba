/**
 * Work of any length as a stream of units: dispatches are recorded one after another, and submitted whenever the work
 * recorded is worth a unit. The next unit is recorded and submitted while one runs, so that the device never waits for
 * the host.
 */
import type { Run } from '../groth16/proving-device.ts'
import type { Commands } from './commands.ts'
import type { Gpu } from './gpu.ts'

/** Dispatches of a unit: recording them takes the host about a millisecond, in which the device should not idle. */
const MAX_DISPATCHES = 100
/** Of the first one, which nothing runs beside; each may have twice as many as the one before. */
const FIRST_DISPATCHES = 8

/** The units of one run, recorded and submitted in order. */
export class UnitStream {
  readonly #gpu: Gpu
  readonly #label: string
  readonly #run: Run
  #total: number
  #mostDispatches = FIRST_DISPATCHES
  #commands: Commands
  #recorded = 0
  #done = 0
  #running: Promise<void> = Promise.resolve()

  /** @param total work of the whole stream, for the shares that `run.unit` is told */
  constructor(gpu: Gpu, label: string, run: Run, total: number) {
    this.#gpu = gpu
    this.#label = label
    this.#run = run
    this.#total = total
    this.#commands = gpu.commands(label)
  }

  /** Corrects the work of the whole stream, once it is known. */
  expect(total: number): void {
    this.#total = total
  }

  /** Where to record what comes next. */
  get commands(): Commands {
    return this.#commands
  }

  /** How much to record at once: what the present unit has room for, but no crumb that would use the device badly. */
  get room(): number {
    const { limit } = this.#gpu.pace
    return Math.max(limit - this.#recorded, limit / 2)
  }

  /**
   * Tells what was recorded; ends the unit if it is full, or if the device waits for it. Waits while more urgent runs
   * have the device.
   * @throws `run.signal.reason` once the signal aborts, and what units fail with
   */
  async recorded(work: number): Promise<void> {
    this.#recorded += work
    // Here and not where the unit is submitted: whoever ends a stream reads its results back, which must be submitted
    // right after.
    const waited = await this.#gpu.gate.turn(this.#run)
    if (waited || this.#recorded >= this.#gpu.pace.limit || this.#commands.size >= this.#mostDispatches)
      await this.flush()
  }

  /** Submits the rest; resolves when everything is done. */
  async finish(): Promise<void> {
    await this.flush()
    await this.#running
  }

  /**
   * Ends the unit, full or not: it is submitted when this returns. Resolves when the one before is done.
   * @throws `run.signal.reason` once the signal aborts, and what units fail with
   */
  async flush(): Promise<void> {
    this.#run.signal.throwIfAborted()
    const work = this.#recorded
    const unit = this.#commands.submit()
    const left = this.#gpu.gate.enter(this.#run)
    unit.then(left, left)
    const before = this.#running
    this.#running = Promise.all([unit, before]).then(([ms]) => {
      this.#gpu.pace.note(work, ms)
      this.#done += work
      this.#run.unit(Math.min(1, this.#done / Math.max(1, this.#total)))
    })
    // Whoever awaits it next hears of it; until then it is not unhandled.
    this.#running.catch(() => {})
    this.#commands = this.#gpu.commands(this.#label)
    this.#recorded = 0
    this.#mostDispatches = Math.min(MAX_DISPATCHES, 2 * this.#mostDispatches)
    await before
  }
}
