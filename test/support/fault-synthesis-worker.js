/**
 * A synthesis worker for tests: instead of witnesses it makes what the fake devices take for one, and the n-th call of
 * a function, counted over all threads of a pool, hangs the way that `workerData.faults` says.
 */
import { open } from 'node:fs/promises'
import { workerData } from 'node:worker_threads'
import { serveWorker } from '../../dist/device/worker-link.js'

/** Of what is kept of a vanilla proof, the third scalar. */
const COMM_R_AT = 64
const OPERATIONS = ['checkAndSynthesize', 'readSeal', 'prepareInputs', 'verify']
const { calls, faults, pipe } = workerData

const HANGS = {
  // JavaScript that never comes back.
  loop() {
    for (;;);
  },
  // A promise that never settles.
  wait: () => new Promise(() => {}),
  // A system call that does not return until somebody writes to the pipe: as a read from a file server that is gone.
  read: () => open(pipe),
}

async function suffer(operation) {
  const nth = 1 + Atomics.add(calls, OPERATIONS.indexOf(operation), 1)
  await HANGS[faults[`${operation} ${nth}`]]?.()
}

serveWorker({
  async checkAndSynthesize(partition, run) {
    run.unit(0.5)
    await suffer('checkAndSynthesize')
    const inputs = partition.scalars.slice(COMM_R_AT, COMM_R_AT + 32)
    return { inputs, bits: new Uint8Array(8), wide: new Uint8Array(32) }
  },
  async readSeal() {
    await suffer('readSeal')
    return []
  },
  async prepareInputs({ publicInputs }) {
    await suffer('prepareInputs')
    const first = publicInputs.map(([input]) => input)
    return { weights: first.map(() => 1n), sum: Buffer.concat(first) }
  },
  async verify({ inputs, proof }) {
    await suffer('verify')
    const first = 'sum' in inputs ? inputs.sum : Buffer.concat(inputs.map(([input]) => input))
    const heads = Array.from({ length: first.length / 32 }, (_, k) => proof.subarray(192 * k, 192 * k + 32))
    return Buffer.concat(heads).equals(first)
  },
})
