const WIDTH = 30

/** One line that shows how far something is, how long it took, and `name`. */
export interface ProgressBar {
  /** @param fraction 0 to 1 */
  update(fraction: number): void
  done(): void
}

/** On a terminal a bar that redraws itself; elsewhere (a log, CI) one line at the start and one at the end. */
export function progressBar(name: string, out: NodeJS.WriteStream = process.stdout): ProgressBar {
  const start = performance.now()
  const seconds = (): string => `${((performance.now() - start) / 1000).toFixed(1).padStart(6)} s`
  let last = 0
  const draw = (fraction: number, end: string): void => {
    const full = Math.round(fraction * WIDTH)
    const percent = `${Math.floor(fraction * 100)}`.padStart(3)
    out.write(`\r  ${name.padEnd(36)} ${'█'.repeat(full)}${'░'.repeat(WIDTH - full)} ${percent} % ${seconds()}${end}`)
  }
  if (!out.isTTY) out.write(`  ${name} …\n`)
  else draw(0, '')
  return {
    update(fraction) {
      // Ten times a second is as much as an eye follows.
      if (!out.isTTY || performance.now() - last < 100) return
      last = performance.now()
      draw(fraction, '')
    },
    done() {
      if (out.isTTY) draw(1, '\n')
      else out.write(`  ${name}: ${seconds().trim()}\n`)
    },
  }
}
