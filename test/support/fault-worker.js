/** A worker for tests of `WorkerLink`: started from JavaScript, like every worker. */
import { writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { endWorker, serveWorker } from '../../dist/device/worker-link.js'
import { InvalidRequestError } from '../../dist/errors.js'

let running = 0

serveWorker({
  echo: (args) => ({ ...args, workerData }),
  async count({ units, unitMs }, run) {
    running++
    try {
      for (let unit = 1; unit <= units; unit++) {
        run.signal.throwIfAborted()
        await delay(unitMs)
        run.unit(unit / units)
        if (unit === 2) run.passed('taken')
        if (unit === units) run.passed('divided')
      }
    } finally {
      running--
    }
  },
  running: () => running,
  refuse() {
    const details = { field: 'randomness', sector: 7n }
    throw new InvalidRequestError('no', { details, cause: new Error('the cause') })
  },
  remark: (message, run) => run.note(message),
  beat(shared) {
    setInterval(() => shared[0]++, 2)
  },
  /** Hears of nothing until its end, of which it tells. */
  block(ms) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    writeSync(1, 'came to its end')
  },
  /** Frees nothing, and so does not end by itself. */
  stop: () => setImmediate(endWorker) && undefined,
  fill: (shared) => void shared.fill(7),
  die(how) {
    if (how === 'exit') process.exit(3)
    setImmediate(() => {
      throw new Error('died of its own')
    })
    return new Promise(() => {})
  },
})
