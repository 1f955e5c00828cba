/** Bytes of destroyed buffers: Dawn returns them to the driver when work that is submitted afterwards is done. */
export class LeavingMemory {
  /** Of all that were destroyed, and of those of them that the driver has for certain. */
  #destroyed = 0
  #returned = 0

  /** That the driver may not have yet. */
  get bytes(): number {
    return this.#destroyed - this.#returned
  }

  destroyed(bytes: number): void {
    this.#destroyed += bytes
  }

  /** Work was submitted. @returns to be called when it is done */
  submitted(): () => void {
    const before = this.#destroyed
    return () => {
      this.#returned = Math.max(this.#returned, before)
    }
  }
}
