/**
 * The worker threads that make witnesses and verify proofs, off the host's thread.
 *
 * Threads start when they are first needed. Calls that find all of them busy wait in the order of their priority. A call whose
 * signal aborts while it waits is skipped when its turn comes; the queue itself never sees the signal, since p-queue would hand a
 * running call's slot on while the call still runs.
 */
import PQueue from 'p-queue'
import type { CompactWitness } from '../circuit/shape.ts'
import { workerFile } from '../cpu/wasm-file.ts'
import { type CallOptions, WorkerLink } from '../device/worker-link.ts'
import { EngineClosedError, WorkerExitedError } from '../errors.ts'
import type { PartitionInput } from './partition-input.ts'
import type { PorepPartition } from './porep/porep-partition.ts'
import type { SealInput } from './porep/read-seal.ts'
import type { VerifyFunctions, VerifyTask } from './verify-functions.ts'
import type { SynthesisFunctions } from './worker-functions.ts'

export interface SynthesisCallOptions extends CallOptions {
  /** The greater goes first. */
  readonly priority: number
}

/** What the engine needs of synthesis, whatever it is behind. */
export interface Synthesizer {
  /**
   * Checks a partition's vanilla proofs to every root and fills its witness.
   * @throws {InvalidRequestError} with the place at fault: sector, partition, challenge and field
   * @throws {WorkerExitedError}
   */
  synthesize(partition: PartitionInput, options: SynthesisCallOptions): Promise<CompactWitness>
  /**
   * Reads a commit-phase-1 output, on a SharedArrayBuffer, into partitions.
   * @throws {InvalidRequestError} with partition, challenge and field at fault
   * @throws {WorkerExitedError}
   */
  readSeal(input: SealInput, options: SynthesisCallOptions): Promise<PorepPartition[]>
  /** @throws {WorkerExitedError} */
  verify(task: VerifyTask, options: SynthesisCallOptions): Promise<boolean>
  /** Ends all threads; calls in flight reject. Idempotent. */
  close(): Promise<void>
}

type Functions = SynthesisFunctions & VerifyFunctions

export class SynthesisPool implements Synthesizer {
  readonly #queue: PQueue
  readonly #idle: WorkerLink<Functions>[] = []
  readonly #all = new Set<WorkerLink<Functions>>()
  #started = 0
  #closed: Promise<void> | undefined

  /** @param threads at most */
  constructor(threads: number) {
    this.#queue = new PQueue({ concurrency: threads })
  }

  synthesize(partition: PartitionInput, options: SynthesisCallOptions): Promise<CompactWitness> {
    return this.#run(options, (link) => link.call('checkAndSynthesize', partition, options))
  }

  async readSeal(input: SealInput, options: SynthesisCallOptions): Promise<PorepPartition[]> {
    const read = (): Promise<PorepPartition[]> => this.#run(options, (link) => link.call('readSeal', input, options))
    try {
      return await read()
    } catch (error) {
      // Reading changes nothing: once more, unless the worker was ended on purpose.
      if (!(error instanceof WorkerExitedError) || this.#closed !== undefined || options.signal?.aborted) throw error
      return await read()
    }
  }

  verify(task: VerifyTask, options: SynthesisCallOptions): Promise<boolean> {
    return this.#run(options, (link) => link.call('verify', task, options))
  }

  close(): Promise<void> {
    this.#closed ??= Promise.all([...this.#all].map((link) => link.terminate())).then(() => {})
    return this.#closed
  }

  #run<T>({ priority, signal }: SynthesisCallOptions, call: (link: WorkerLink<Functions>) => Promise<T>): Promise<T> {
    return this.#queue.add(
      async () => {
        signal?.throwIfAborted()
        const link = this.#take()
        try {
          return await call(link)
        } finally {
          if (this.#all.has(link)) this.#idle.push(link)
        }
      },
      { priority },
    )
  }

  #take(): WorkerLink<Functions> {
    if (this.#closed !== undefined) throw new EngineClosedError('the synthesis workers are closed')
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    const name = `wgzk-synthesis-${this.#started++}`
    const link = new WorkerLink<Functions>(workerFile('synthesis/synthesis-worker.js'), name, undefined)
    this.#all.add(link)
    void link.exited.then(() => {
      this.#all.delete(link)
      const index = this.#idle.indexOf(link)
      if (index >= 0) this.#idle.splice(index, 1)
    })
    return link
  }
}
