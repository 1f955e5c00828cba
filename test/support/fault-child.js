/** A child process for tests of `ProcessLink`: native code that crashes ends its process by a signal. */
import { serveProcess } from '../../dist/device/process-link.js'

serveProcess({
  echo: (args) => args,
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
