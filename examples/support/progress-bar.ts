const WIDTH = 30

/** How often a log is told that it goes on. */
const LINE_MS = 10_000

/** One line that shows how far something is, how long it took, and `name`. */
export interface ProgressBar {
  /** @param fraction 0 to 1 */
  update(fraction: number): void
  done(): void
}

/**
 * On a terminal a bar that redraws itself; elsewhere (a log, CI) a line at the start, one at the end, and one every ten
 * seconds between. An end that {@link ProgressBar.done} is not called for keeps no process alive.
 */
export function progressBar(name: string, out: NodeJS.WriteStream = process.stdout): ProgressBar {
  const start = performance.now()
  const seconds = (): string => `${((performance.now() - start) / 1000).toFixed(1).padStart(6)} s`
  const percentOf = (fraction: number): string => `${Math.floor(fraction * 100)}`.padStart(3)
  let reached = 0
  let last = 0
  const draw = (fraction: number, end: string): void => {
    const full = Math.round(fraction * WIDTH)
    out.write(
      `\r  ${name.padEnd(36)} ${'█'.repeat(full)}${'░'.repeat(WIDTH - full)} ${percentOf(fraction)} % ${seconds()}${end}`,
    )
  }
  const line = (): void => void out.write(`  ${name}: ${percentOf(reached)} % after ${seconds().trim()}\n`)
  const lines = out.isTTY ? undefined : setInterval(line, LINE_MS).unref()
  if (!out.isTTY) out.write(`  ${name} …\n`)
  else draw(0, '')
  return {
    update(fraction) {
      reached = fraction
      // Ten times a second is as much as an eye follows.
      if (!out.isTTY || performance.now() - last < 100) return
      last = performance.now()
      draw(fraction, '')
    },
    done() {
      clearInterval(lines)
      if (out.isTTY) draw(1, '\n')
      else out.write(`  ${name}: ${seconds().trim()}\n`)
    },
  }
}
