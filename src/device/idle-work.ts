/**
 * Work for the time in which a device has nothing else to do: it begins after a while of idleness, and gives way to
 * anything.
 */

/** When the work is done. */
export interface IdleWorkOptions {
  /** For how long nothing else has been done when it begins. */
  readonly idleMs: number
  /** How often it is begun, if it is interrupted or fails. */
  readonly attempts: number
  /** Whether it is to be done again once other things have been. @default false */
  readonly repeats?: boolean | undefined
}

/** The work of one device, begun by a timer and ended by whatever else is to be done. */
export class IdleWork {
  readonly #work: (signal: AbortSignal) => Promise<void>
  readonly #options: IdleWorkOptions
  #attempts: number
  #ended = false
  /** Other things that are going on. */
  #others = 0
  #timer: NodeJS.Timeout | undefined
  #running: { readonly controller: AbortController; readonly ended: Promise<void> } | undefined

  /** @param work stops soon after its signal aborts; a failure is nobody's concern */
  constructor(work: (signal: AbortSignal) => Promise<void>, options: IdleWorkOptions) {
    this.#work = work
    this.#options = options
    this.#attempts = options.attempts
    this.#arm()
  }

  /** Something else is to be done, until what this resolves with is disposed of. Resolves when the work has stopped. */
  async giveWay(): Promise<Disposable> {
    this.#others++
    clearTimeout(this.#timer)
    await this.#stop()
    let ended = false
    return {
      [Symbol.dispose]: () => {
        if (ended) return
        ended = true
        this.#others--
        if (this.#options.repeats === true && !this.#ended) this.#attempts = this.#options.attempts
        this.#arm()
      },
    }
  }

  /** Ends it for good. */
  async end(): Promise<void> {
    this.#ended = true
    this.#attempts = 0
    clearTimeout(this.#timer)
    await this.#stop()
  }

  async #stop(): Promise<void> {
    this.#running?.controller.abort(new Error('the device has other work'))
    await this.#running?.ended
  }

  #arm(): void {
    clearTimeout(this.#timer)
    if (this.#others > 0 || this.#attempts === 0) return
    this.#timer = setTimeout(() => this.#begin(), this.#options.idleMs)
    // It is no reason for a thread to stay.
    this.#timer.unref()
  }

  #begin(): void {
    this.#attempts--
    const controller = new AbortController()
    const ended = this.#work(controller.signal).then(
      () => {
        this.#attempts = 0
      },
      () => {},
    )
    this.#running = {
      controller,
      ended: ended.then(() => {
        this.#running = undefined
        this.#arm()
      }),
    }
  }
}
