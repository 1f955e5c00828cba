/**
 * One try of a partition on a device that it is given: what it frees as it gets on, and what a failure means for the
 * next try.
 */
import type { CircuitUse, LoadedCircuit } from '../budget/circuit-use.ts'
import type { PartitionMemory } from '../budget/partition-memory.ts'
import type { CompactWitness } from '../circuit/shape.ts'
import type { Claim } from '../device/device-claims.ts'
import type { DeviceRole } from '../device/gpu-pool.ts'
import { watchStall } from '../device/stall-watch.ts'
import { ProverError, type SynthesisError } from '../errors.ts'
import type { Milestone } from '../groth16/proving-device.ts'
import type { ParametersLocation } from '../params/parameters-location.ts'
import type { Partition } from './job.ts'
import { isPassing, type PartitionSteps, typed } from './partition-steps.ts'

/** What a partition holds from its turn to its end. */
export interface Room extends Disposable {
  readonly use: CircuitUse
  readonly memory: PartitionMemory
  readonly turn: { synthesized(): void; leave(): void }
}

/** Told that a device has a witness, and where its circuit's parameters are. */
export type OnTaken = (location: ParametersLocation) => void

/** What there is to prove, and with what. */
export interface DeviceWork {
  readonly role: DeviceRole
  readonly circuit: LoadedCircuit
  readonly witness: CompactWitness
  readonly room: Room
  readonly onTaken: OnTaken
}

/** What came of a try. */
export interface DeviceTry {
  readonly proof?: Uint8Array
  /** Why it did not end. */
  readonly interrupted?: unknown
  /**
   * The same, where it was this partition's own try: not so if the device died of what another did there, or if it was
   * let go of.
   */
  readonly failed?: unknown
  /** The device checked a witness that nobody had checked, and it does not satisfy the circuit. */
  readonly unsatisfied?: SynthesisError
}

/** @throws `partition.job.signal.reason` once the job is aborted, and what the pool has no device for */
export async function tryOnDevice(
  steps: PartitionSteps,
  partition: Partition,
  { role, circuit, witness, room, onTaken }: DeviceWork,
): Promise<DeviceTry> {
  const { job } = partition
  const { circuitId, signal } = job
  using waiting = witnessWaits(steps, witness)
  using device = await steps.pool.acquire(claimOf(steps, partition, role), signal, role)
  let working = false
  const passed: Milestone[] = []
  const freed = (milestone: Milestone): void => room.memory.freed(milestone === 'taken' ? 'sent' : 'quotient')
  const begin = (): void => {
    if (working) return
    working = true
    waiting[Symbol.dispose]()
    partition.gpu = device.ordinal
    partition.move('gpu')
    steps.placed(partition)
    // Another witness may be made ahead.
    room.turn.leave()
    for (const milestone of passed) freed(milestone)
  }
  device.whenWorking(begin)
  using stop = whichever(signal, device.recall)
  using _watch = watchStall(device, steps.stallMs, (silentMs) => {
    // Of several on a device one is told of, and ends it for all.
    if (!device.first) return
    steps.stalled(partition, 'gpu', silentMs)
    device.end()
  })
  try {
    const { urgent } = device
    const deviceCircuit =
      role === 'device'
        ? steps.circuits.deviceCircuit(circuitId, circuit.location)
        : { circuitId, parameters: circuit.location, keepPoints: false }
    const { proofs, points } = await device.client.proveBatch(
      { ...deviceCircuit, witnesses: [witness], urgent, rank: job.rank },
      {
        signal: stop.signal,
        onProgress: (share) => {
          device.unit()
          // Its units run, though it may only get ready: a GPU has it in its own memory, so that it waits for none any
          // more.
          if (share > 0 && device.client.info.kind === 'webgpu') room.turn.leave()
          partition.gpuShare = share
          steps.progressed(partition)
        },
        // What only gets ready may have to go elsewhere, with all of its memory.
        onPassed: (milestone) => {
          if (milestone === 'taken') onTaken(circuit.location)
          if (working) freed(milestone)
          else passed.push(milestone)
        },
      },
    )
    if (role === 'device') steps.circuits.located(circuitId, points)
    // What the stand-in loaded was counted with this partition, and is not to outlive it.
    if (role === 'standIn') await device.client.forget(circuitId)
    const [proof] = proofs
    if (proof === undefined || proofs.length !== 1) throw new Error(`${proofs.length} proofs came back for 1 witness`)
    device.succeeded()
    // It may have had the device while what goes before it waited for something.
    begin()
    partition.gpuShare = 1
    partition.move('done')
    partition.gpuMs = device.deviceMs
    steps.progressed(partition)
    return { proof }
  } catch (interrupted) {
    partition.gpuShare = 0
    if (signal.aborted) throw signal.reason
    const recalled = device.recall.aborted
    const unsatisfied = witness.unchecked && isUnsatisfied(interrupted)
    const again =
      recalled ||
      unsatisfied ||
      isPassing(interrupted) ||
      (role === 'device' && steps.circuits.placement.standsIn(circuitId))
    if (working && again) partition.move('synth_done')
    const exhausted = ProverError.is(interrupted) && interrupted.code === 'ERR_GPU_OUT_OF_MEMORY'
    if (exhausted) device.outOfMemory()
    if (recalled) return { interrupted }
    // The device did its part; whether it did so right is for the host to say.
    if (unsatisfied) {
      partition.gpu = device.ordinal
      return { unsatisfied: interrupted }
    }
    partition.alone = isPassing(interrupted)
    if (isPassing(interrupted) && !exhausted && !(working && device.first)) return { interrupted }
    partition.avoid = device.ordinal
    return { interrupted, failed: typed(interrupted, signal, 'device') }
  }
}

const isUnsatisfied = (error: unknown): error is SynthesisError =>
  ProverError.is(error) && error.code === 'ERR_SYNTHESIS_FAILED'

/** A signal that aborts with the first of two. Unlike `AbortSignal.any` in Node 20 it leaves nothing behind. */
function whichever(a: AbortSignal, b: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const abort = (): void => controller.abort(a.aborted ? a.reason : b.reason)
  for (const source of [a, b]) source.addEventListener('abort', abort, { once: true })
  if (a.aborted || b.aborted) abort()
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const source of [a, b]) source.removeEventListener('abort', abort)
    },
  }
}

/** Counts a witness among those that wait for a device. */
function witnessWaits(steps: PartitionSteps, { inputs, bits, wide }: CompactWitness): Disposable {
  const bytes = inputs.byteLength + bits.byteLength + wide.byteLength
  let waits = true
  steps.witnessBytes(bytes)
  return {
    [Symbol.dispose]() {
      if (waits) steps.witnessBytes(-bytes)
      waits = false
    },
  }
}

/** In the order in which partitions are synthesized. */
function claimOf({ circuits }: PartitionSteps, { job, index, avoid, alone }: Partition, role: DeviceRole): Claim {
  const order = [job.deadlineMs ?? Number.MAX_SAFE_INTEGER, job.arrival, index]
  const terms = circuits.placement.deviceTerms(job.circuitId, role)
  return { occupant: { jobId: job.id, partition: index }, rank: () => job.rank, order, avoid, alone, ...terms }
}
