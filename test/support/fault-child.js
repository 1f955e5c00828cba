/** A child process for tests of `ProcessLink`: native code that crashes ends its process by a signal. */
import { freePiped } from '../../dist/device/byte-pipe.js'
import { serveProcess } from '../../dist/device/process-link.js'

serveProcess({
  echo: (args) => args,
  /** Length and sum of arrays, and their lengths once they were freed. */
  sums({ arrays }) {
    const of = arrays.map((bytes) => [bytes.length, bytes.reduce((sum, byte) => sum + byte, 0)])
    for (const bytes of arrays) freePiped(bytes)
    return { of, left: arrays.map(({ length }) => length) }
  },
  /** Once it has answered it reads nothing for a while, and may end then. */
  block({ ms, signal }) {
    setImmediate(() => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
      if (signal !== undefined) process.kill(process.pid, signal)
    })
  },
  residentBytes: () => process.memoryUsage.rss(),
  remark: (message, run) => run.note(message),
  async count({ units, unitMs }, run) {
    for (let unit = 1; unit <= units; unit++) {
      run.signal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, unitMs))
      run.unit(unit / units)
      if (unit === 2) run.passed('taken')
      if (unit === units) run.passed('divided')
    }
  },
  crash(signal) {
    process.stderr.write('memory was not to be read')
    setTimeout(() => process.kill(process.pid, signal), 20)
    return new Promise(() => {})
  },
})
