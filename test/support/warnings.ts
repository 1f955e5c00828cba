/** What Node warns of, leaks of listeners above all. */

/** Does something, and tells the messages of the warnings that came of it. */
export async function warningsOf(work: () => Promise<void>): Promise<string[]> {
  const warnings: string[] = []
  const warned = ({ message }: Error): unknown => warnings.push(message)
  process.on('warning', warned)
  try {
    await work()
    // A warning is told of a turn after it was made.
    await new Promise((resolve) => setTimeout(resolve, 1))
    return warnings
  } finally {
    process.off('warning', warned)
  }
}
