/** Garbage collection of this thread, for what is large outside of its heap: V8 alone sees no hurry there. */

/**
 * Has V8 collect once, some tens of milliseconds in which this thread does nothing else. The inspector's call needs no
 * flag of the process. Where there is none, V8 collects when it finds time.
 */
export async function collectGarbage(): Promise<void> {
  try {
    const { Session } = await import('node:inspector')
    const session = new Session()
    session.connect()
    try {
      await new Promise((resolve) => session.post('HeapProfiler.collectGarbage', resolve))
    } finally {
      session.disconnect()
    }
  } catch {
    // Node was built without it, or it is switched off.
  }
}
