/**
 * The worker threads that make witnesses and verify proofs, off the host's thread.
 *
 * Threads start when they are first needed. Calls that find all of them busy wait in the order of their priority. A
 * call whose signal aborts while it waits is skipped when its turn comes; the queue itself never sees the signal, since
 * p-queue would hand a running call's slot on while the call still runs.
 *
 * A worker that reports nothing for too long hangs. It is ended, its call rejects, and another thread takes its place.
 */
import PQueue from 'p-queue'
import type { CompactWitness } from '../circuit/shape.ts'
import { workerFile } from '../cpu/wasm-file.ts'
import type { CallOptions } from '../device/link.ts'
import { STALL_MS, watchStall } from '../device/stall-watch.ts'
import { WorkerLink } from '../device/worker-link.ts'
import { EngineClosedError, WorkerExitedError } from '../errors.ts'
import type { PreparedInputs } from '../groth16/verify.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import { isUnchecked, type PartitionInput } from './partition-input.ts'
import type { PorepPartition } from './porep/porep-partition.ts'
import type { SealInput } from './porep/read-seal.ts'
import { synthesizeUnchecked } from './synthesize-post.ts'
import type { InputsTask, VerifyFunctions, VerifyTask } from './verify-functions.ts'
import type { SynthesisFunctions } from './worker-functions.ts'

export interface SynthesisCallOptions extends CallOptions {
  /** The greater goes first. */
  readonly priority: number
  /** The worker hangs and is ended; the call rejects soon. */
  readonly onStall?: ((silentMs: number) => void) | undefined
}

/** What the engine needs of synthesis, whatever it is behind. */
export interface Synthesizer {
  /**
   * Checks a partition's vanilla proofs to every root, unless that is left to a device, and fills its witness.
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
  /**
   * Computes of a verification what needs no proof.
   * @throws what reading the key fails with, {@link WorkerExitedError}
   */
  prepareInputs(task: InputsTask, options: SynthesisCallOptions): Promise<PreparedInputs>
  /** @throws {WorkerExitedError} */
  verify(task: VerifyTask, options: SynthesisCallOptions): Promise<boolean>
  /**
   * Gets the thread that the next calls go to ready for a circuit's first proof: started, its code loaded, the
   * verifying key read.
   * @throws what reading the key fails with, {@link WorkerExitedError}
   */
  warm(location: ParametersLocation, options: SynthesisCallOptions): Promise<void>
  /**
   * Reads a circuit's parameters anew, all of them.
   * @returns their present digest
   * @throws the system's error, {@link WorkerExitedError}
   */
  digestOf(location: ParametersLocation, options: SynthesisCallOptions): Promise<string>
  /** Ends all threads; calls in flight reject. Idempotent. */
  close(): Promise<void>
}

type Functions = SynthesisFunctions & VerifyFunctions

export interface SynthesisPoolOptions {
  /** A worker that reports nothing for so long hangs: it works in slices of milliseconds. @default STALL_MS */
  readonly stallMs?: number | undefined
  /** Built JavaScript that serves synthesis and verification, and what it is given. @default that of this package */
  readonly file?: URL | undefined
  readonly workerData?: unknown
}

/**
 * Numbers of 381 bits are garbage a moment after they were made. More room for them would only be memory: 16 MB of it
 * in the verification of a WindowPoSt of 32 GiB sectors, which takes no longer.
 */
const YOUNG_HEAP_MB = 8

/** A seal's file is read at one go; by far the slowest machine reads more than these bytes a millisecond. */
const SEAL_BYTES_PER_MS = 1_000

const NEVER = new AbortController().signal

type Call<T> = (link: WorkerLink<Functions>, options: CallOptions) => Promise<T>

/** Threads that synthesize and verify, started as they are wanted; one that hangs or dies is replaced. */
export class SynthesisPool implements Synthesizer {
  readonly #queue: PQueue
  readonly #idle: WorkerLink<Functions>[] = []
  readonly #all = new Set<WorkerLink<Functions>>()
  readonly #stallMs: number
  readonly #file: URL
  readonly #workerData: unknown
  #started = 0
  #closed: Promise<void> | undefined

  /** @param threads at most */
  constructor(threads: number, options: SynthesisPoolOptions = {}) {
    this.#queue = new PQueue({ concurrency: threads })
    this.#stallMs = options.stallMs ?? STALL_MS
    this.#file = options.file ?? workerFile('synthesis/synthesis-worker.js')
    this.#workerData = options.workerData
  }

  async synthesize(partition: PartitionInput, options: SynthesisCallOptions): Promise<CompactWitness> {
    if (isUnchecked(partition)) {
      // There is next to nothing to do, but for the proof to be verified later by a thread that is there by then.
      if (this.#all.size === 0) this.#idle.push(this.#take())
      const { onProgress = () => {}, signal = NEVER } = options
      return await synthesizeUnchecked(partition, { signal, unit: onProgress })
    }
    return await this.#run(options, (link, watched) => link.call('checkAndSynthesize', partition, watched))
  }

  async readSeal(input: SealInput, options: SynthesisCallOptions): Promise<PorepPartition[]> {
    const extraMs = input.vanillaProof.length / SEAL_BYTES_PER_MS
    const read = (): Promise<PorepPartition[]> =>
      this.#run(options, (link, watched) => link.call('readSeal', input, watched), extraMs)
    try {
      return await read()
    } catch (error) {
      // Reading changes nothing: once more, unless the worker was ended on purpose.
      if (!(error instanceof WorkerExitedError) || this.#closed !== undefined || options.signal?.aborted) throw error
      return await read()
    }
  }

  prepareInputs(task: InputsTask, options: SynthesisCallOptions): Promise<PreparedInputs> {
    return this.#run(options, (link, watched) => link.call('prepareInputs', task, watched))
  }

  verify(task: VerifyTask, options: SynthesisCallOptions): Promise<boolean> {
    return this.#run(options, (link, watched) => link.call('verify', task, watched))
  }

  warm(location: ParametersLocation, options: SynthesisCallOptions): Promise<void> {
    return this.#run(options, (link, watched) => link.call('warm', location, watched))
  }

  digestOf(location: ParametersLocation, options: SynthesisCallOptions): Promise<string> {
    return this.#run(options, (link, watched) => link.call('digestOf', location, watched))
  }

  close(): Promise<void> {
    this.#closed ??= Promise.all([...this.#all].map((link) => link.terminate())).then(() => {})
    return this.#closed
  }

  #run<T>(options: SynthesisCallOptions, call: Call<T>, extraMs = 0): Promise<T> {
    const { priority, signal } = options
    return this.#queue.add(
      () => {
        signal?.throwIfAborted()
        return this.#watched(this.#take(), options, call, this.#stallMs + extraMs)
      },
      { priority },
    )
  }

  async #watched<T>(
    link: WorkerLink<Functions>,
    { signal, onProgress, onStall }: SynthesisCallOptions,
    call: Call<T>,
    stallMs: number,
  ): Promise<T> {
    let heardAt = performance.now()
    let hung: WorkerExitedError | undefined
    using _watch = watchStall({ silentMs: () => performance.now() - heardAt }, stallMs, (silentMs) => {
      hung = new WorkerExitedError(`${link.name} made no progress for ${Math.round(silentMs)} ms and was ended`)
      onStall?.(silentMs)
      void link.terminate()
    })
    const heard = (share: number): void => {
      heardAt = performance.now()
      onProgress?.(share)
    }
    try {
      return await call(link, { signal, onProgress: heard })
    } catch (error) {
      throw error instanceof WorkerExitedError ? (hung ?? error) : error
    } finally {
      if (hung === undefined && this.#all.has(link)) this.#idle.push(link)
    }
  }

  #take(): WorkerLink<Functions> {
    if (this.#closed !== undefined) throw new EngineClosedError('the synthesis workers are closed')
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    const name = `wgzk-synthesis-${this.#started++}`
    const link = new WorkerLink<Functions>(this.#file, name, this.#workerData, { youngHeapMb: YOUNG_HEAP_MB })
    this.#all.add(link)
    void link.exited.then(() => {
      this.#all.delete(link)
      const index = this.#idle.indexOf(link)
      if (index >= 0) this.#idle.splice(index, 1)
    })
    return link
  }
}
