/**
 * One partition's way: reserve → synthesize → prove. What it holds (memory, its place among those that synthesize, its circuit, a
 * device) is released on every path, and only when the work that uses it has stopped.
 */
import type { CircuitUse, LoadedCircuit } from '../budget/circuit-use.ts'
import type { Circuits } from '../budget/circuits.ts'
import type { PartitionMemory } from '../budget/partition-memory.ts'
import type { CompactWitness } from '../circuit/shape.ts'
import type { Claim } from '../device/device-claims.ts'
import type { DeviceRole, GpuPool } from '../device/gpu-pool.ts'
import { watchStall } from '../device/stall-watch.ts'
import { asProverError, ProverError, type ProverErrorCode } from '../errors.ts'
import type { Diagnosis, StallPhase } from '../events.ts'
import type { Milestone } from '../groth16/proving-device.ts'
import type { ReadRun } from '../params/parameters-location.ts'
import type { PartitionInput } from '../synthesis/partition-input.ts'
import type { Synthesizer } from '../synthesis/synthesis-pool.ts'
import type { Partition } from './job.ts'
import type { SynthesisScheduler } from './synthesis-scheduler.ts'

export interface PartitionSteps {
  readonly scheduler: SynthesisScheduler
  readonly circuits: Circuits
  readonly synthesizer: Synthesizer
  readonly pool: GpuPool
  readonly witnessBytes: (bytes: number) => void
  /** The partition got its memory. */
  started(partition: Partition): void
  memory(partition: Partition, state: 'waiting' | 'granted', bytes: number): void
  retry(partition: Partition, attempt: number, error: ProverError): void
  /** No GPU can do it: the CPU device does. */
  fellBack(partition: Partition, error: ProverError): void
  /** A device took it. */
  placed(partition: Partition): void
  progressed(partition: Partition): void
  /** A device of which no unit ended for so long hangs. */
  readonly stallMs: number
  /** What works on it hangs, and is ended. */
  stalled(partition: Partition, phase: StallPhase, silentMs: number, file?: string): void
  /** Its finished proof holds. */
  verified(partition: Partition): void
  /** Its finished proof does not hold. */
  verifyFailed(partition: Partition): void
  /** What is known of the cause when a proof that did not hold was made anew on another or the same device. */
  diagnosed(partition: Partition, diagnosis: Diagnosis): void
}

export interface ProvedPartition {
  /** 192 bytes, not verified yet. */
  readonly proof: Uint8Array
  readonly circuit: LoadedCircuit
  /** What it waited for its parameters. */
  readonly loadMs: number
}

/** Tries of each step. A fault that passes is gone at the second; what fails three times fails for good. */
const MAX_ATTEMPTS = 3

/** Faults of a worker or device and not of the job: the same work may succeed elsewhere, or after a restart. */
const PASSING: ReadonlySet<ProverErrorCode> = new Set([
  'ERR_WORKER_EXITED',
  'ERR_GPU_DEVICE_LOST',
  'ERR_GPU_OUT_OF_MEMORY',
])

/** Faults after which the stand-in may do what the devices could not. */
const FAULTS_OF_DEVICES: ReadonlySet<ProverErrorCode> = new Set([
  ...PASSING,
  'ERR_GPU_UNAVAILABLE',
  'ERR_GPU_VALIDATION',
])

/** A partition can't be tried again on a device: others have the memory that it gave back. */
class MemoryTaken extends Error {}

/** @throws `partition.job.signal.reason` once the job is aborted, else what made the partition fail */
export async function provePartition(
  steps: PartitionSteps,
  partition: Partition,
  input: PartitionInput,
): Promise<ProvedPartition> {
  const { job } = partition
  const { circuits } = steps
  const { role: first, why } = circuits.placement(job.circuitId)
  if (first === 'standIn' && why !== undefined) steps.fellBack(partition, why)
  let role = first
  // The only device made a wrong proof of it: another kind of hardware tells whether that was the device's fault.
  if (
    first === 'device' &&
    partition.doubt !== undefined &&
    steps.pool.serving < 2 &&
    circuits.standsIn(job.circuitId)
  ) {
    steps.fellBack(partition, partition.doubt)
    role = 'standIn'
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await proveOn(role, steps, partition, input)
    } catch (error) {
      const again = error instanceof MemoryTaken && attempt < MAX_ATTEMPTS
      const fault = error instanceof MemoryTaken ? error.cause : error
      const fallsBack = role === 'device' && ProverError.is(fault) && FAULTS_OF_DEVICES.has(fault.code)
      if (job.signal.aborted || !(again || (fallsBack && circuits.standsIn(job.circuitId)))) throw fault
      // It comes back to the start, in its old place: what its turn held is free by now.
      if (partition.state !== 'pending') partition.move('pending')
      partition.synthesisShare = 0
      if (again) continue
      // The stand-in has other memory.
      role = 'standIn'
      steps.fellBack(partition, fault as ProverError)
    }
  }
}

async function proveOn(
  role: DeviceRole,
  steps: PartitionSteps,
  partition: Partition,
  input: PartitionInput,
): Promise<ProvedPartition> {
  const { job } = partition
  using room = await reserve(steps, partition, role)
  // Both need nothing of each other; what fails first stops the other, and both have stopped before the memory goes.
  const stop = new AbortController()
  const signal = AbortSignal.any([job.signal, stop.signal])
  const loading: ReadRun = {
    signal,
    unit: () => {},
    stalled: (silentMs, file) => steps.stalled(partition, 'parameters', silentMs, file),
  }
  const loadedAt = job.clock.now()
  let loadMs = 0
  const [circuit, witness] = await together(
    (error) => stop.abort(error),
    attempts(steps, partition, () => room.use.load(loading), signal).then((loaded) => {
      loadMs = job.clock.now() - loadedAt
      return loaded
    }),
    synthesize(steps, partition, input, signal),
  )
  room.turn.synthesized()
  room.memory.freed('synthesis')
  const proof = await proveOnDevice(steps, partition, { role, circuit, witness, room })
  return { proof, circuit, loadMs }
}

interface Room extends Disposable {
  readonly use: CircuitUse
  readonly memory: PartitionMemory
  readonly turn: { synthesized(): void; leave(): void }
}

async function reserve(steps: PartitionSteps, partition: Partition, role: DeviceRole): Promise<Room> {
  const { job } = partition
  const { circuits } = steps
  const use = role === 'device' ? circuits.use(job.circuitId, () => job.rank) : circuits.useStandIn(job.circuitId)
  let waited = false
  try {
    const turn = await steps.scheduler.turn({
      partition,
      bytes: use.neededBytes,
      signal: job.signal,
      hopeless: () => circuits.refusal(job.circuitId),
      onWait: () => {
        waited = true
        steps.memory(partition, 'waiting', use.neededBytes())
      },
      onGrant: (memory) => {
        if (waited) steps.memory(partition, 'granted', memory.bytes)
        use.granted(memory)
      },
    })
    const memory = use.hold(turn.memory)
    const room: Room = {
      use,
      memory,
      turn,
      [Symbol.dispose]() {
        memory[Symbol.dispose]()
        use[Symbol.dispose]()
        turn.leave()
      },
    }
    if (job.signal.aborted) {
      room[Symbol.dispose]()
      throw job.signal.reason
    }
    steps.started(partition)
    return room
  } catch (error) {
    use[Symbol.dispose]()
    throw error
  }
}

function synthesize(
  steps: PartitionSteps,
  partition: Partition,
  input: PartitionInput,
  signal: AbortSignal,
): Promise<CompactWitness> {
  const { job } = partition
  const step = async (): Promise<CompactWitness> => {
    partition.move('synthesizing')
    try {
      const witness = await steps.synthesizer.synthesize(input, {
        priority: job.rank,
        signal,
        onStall: (silentMs) => steps.stalled(partition, 'synthesis', silentMs),
        onProgress: (share) => {
          partition.synthesisShare = share
          steps.progressed(partition)
        },
      })
      partition.synthesisShare = 1
      partition.move('synth_done')
      steps.progressed(partition)
      return witness
    } catch (error) {
      partition.synthesisShare = 0
      if ((isPassing(error) || signal.aborted) && !job.signal.aborted) partition.move('pending')
      throw typed(error, signal, 'host')
    }
  }
  return attempts(steps, partition, step, signal)
}

interface DeviceWork {
  readonly role: DeviceRole
  readonly circuit: LoadedCircuit
  readonly witness: CompactWitness
  readonly room: Room
}

function proveOnDevice(steps: PartitionSteps, partition: Partition, work: DeviceWork): Promise<Uint8Array> {
  const { memory } = work.room
  let last: DeviceTry = {}
  return attempts(steps, partition, async () => {
    do {
      const { interrupted: cause } = last
      if (cause !== undefined && !memory.takeBack()) throw new MemoryTaken('others took it', { cause })
      last = await tryOnDevice(steps, partition, work)
      if (last.failed !== undefined) throw last.failed
    } while (last.proof === undefined)
    return last.proof
  })
}

/** What came of a try. */
interface DeviceTry {
  readonly proof?: Uint8Array
  /** Why it did not end. */
  readonly interrupted?: unknown
  /** The same, where it was this partition's own try: not so if the device died of what another did there, or if it was let go of. */
  readonly failed?: unknown
}

async function tryOnDevice(
  steps: PartitionSteps,
  partition: Partition,
  { role, circuit, witness, room }: DeviceWork,
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
          partition.gpuShare = share
          steps.progressed(partition)
        },
        // What only gets ready may have to go elsewhere, with all of its memory.
        onPassed: (milestone) => (working ? freed(milestone) : void passed.push(milestone)),
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
    const again = recalled || isPassing(interrupted) || (role === 'device' && steps.circuits.standsIn(circuitId))
    if (working && again) partition.move('synth_done')
    const exhausted = ProverError.is(interrupted) && interrupted.code === 'ERR_GPU_OUT_OF_MEMORY'
    if (exhausted) device.outOfMemory()
    if (recalled) return { interrupted }
    partition.alone = isPassing(interrupted)
    if (isPassing(interrupted) && !exhausted && !(working && device.first)) return { interrupted }
    partition.avoid = device.ordinal
    return { interrupted, failed: typed(interrupted, signal, 'device') }
  }
}

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
  const terms = circuits.deviceTerms(job.circuitId, role)
  return { occupant: { jobId: job.id, partition: index }, rank: () => job.rank, order, avoid, alone, ...terms }
}

/** Runs a step, and again if it fails for a reason that may pass. */
export async function attempts<T>(
  steps: Pick<PartitionSteps, 'retry'>,
  partition: Partition,
  step: () => Promise<T>,
  signal: AbortSignal = partition.job.signal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step()
    } catch (error) {
      if (!isPassing(error) || attempt === MAX_ATTEMPTS || signal.aborted) throw error
      steps.retry(partition, attempt + 1, error)
    }
  }
}

function isPassing(error: unknown): error is ProverError {
  return ProverError.is(error) && PASSING.has(error.code)
}

/** A failure of a step, as embedders get it; what an abort brought about stays as it is. */
function typed(error: unknown, signal: AbortSignal, where: 'host' | 'device'): unknown {
  return signal.aborted ? error : asProverError(error, where)
}

/** Waits until both have settled, and tells of the first failure at once so that the other can be stopped. */
async function together<A, B>(onFailure: (error: unknown) => void, a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  a.catch(onFailure)
  b.catch(onFailure)
  const [first, second] = await Promise.allSettled([a, b])
  if (first.status === 'rejected') throw first.reason
  if (second.status === 'rejected') throw second.reason
  return [first.value, second.value]
}
