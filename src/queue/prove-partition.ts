/**
 * One partition's way: reserve → synthesize → prove. What it holds (memory, its place among those that synthesize, its
 * circuit, a device) is released on every path, and only when the work that uses it has stopped.
 */
import type { LoadedCircuit } from '../budget/circuit-use.ts'
import type { CompactWitness } from '../circuit/shape.ts'
import type { DeviceRole } from '../device/gpu-pool.ts'
import { ProofInvalidError, ProverError, type ProverErrorCode, type SynthesisError } from '../errors.ts'
import type { ReadRun } from '../params/parameters-location.ts'
import { inputBytesOf, leftToDevice, type PartitionInput } from '../synthesis/partition-input.ts'
import type { Partition } from './job.ts'
import { attempts, isPassing, MAX_ATTEMPTS, PASSING, type PartitionSteps, typed } from './partition-steps.ts'
import { type DeviceTry, type DeviceWork, type OnTaken, type Room, tryOnDevice } from './try-on-device.ts'

export interface ProvedPartition {
  /** 192 bytes, not verified yet. */
  readonly proof: Uint8Array
  readonly circuit: LoadedCircuit
  /** What it waited for its parameters. */
  readonly loadMs: number
}

/** Faults after which the stand-in may do what the devices could not. */
const FAULTS_OF_DEVICES: ReadonlySet<ProverErrorCode> = new Set([
  ...PASSING,
  'ERR_GPU_UNAVAILABLE',
  'ERR_GPU_VALIDATION',
])

/** A partition can't be tried again on a device: others have the memory that it gave back. */
class MemoryTaken extends Error {}

/**
 * A partition begins anew: a device found fault with its input, and the host is to say whether that is so, or has said
 * that it is not.
 */
class BeginAnew extends Error {}

/** @throws `partition.job.signal.reason` once the job is aborted, else what made the partition fail */
export async function provePartition(
  steps: PartitionSteps,
  partition: Partition,
  input: PartitionInput,
  onTaken: OnTaken,
): Promise<ProvedPartition> {
  const { job } = partition
  const { circuits } = steps
  let role = firstRole(steps, partition)
  for (let attempt = 1; ; attempt++) {
    try {
      return await proveOn(role, steps, partition, input, onTaken)
    } catch (error) {
      const anew = error instanceof BeginAnew
      const again = anew || (error instanceof MemoryTaken && attempt < MAX_ATTEMPTS)
      const fault = error instanceof MemoryTaken ? error.cause : error
      const fallsBack = role === 'device' && ProverError.is(fault) && FAULTS_OF_DEVICES.has(fault.code)
      if (job.signal.aborted || !(again || (fallsBack && circuits.placement.standsIn(job.circuitId)))) throw fault
      // It comes back to the start, in its old place: what its turn held is free by now.
      if (partition.state !== 'pending') partition.move('pending')
      partition.synthesisShare = 0
      if (anew && role === 'device') role = firstRole(steps, partition)
      if (again) continue
      // The stand-in has other memory.
      role = 'standIn'
      steps.fellBack(partition, fault as ProverError)
    }
  }
}

/** Where a partition goes that begins. */
function firstRole(steps: PartitionSteps, partition: Partition): DeviceRole {
  const { circuits, pool } = steps
  const { circuitId } = partition.job
  const { role, why } = circuits.placement.of(circuitId)
  if (role === 'standIn' && why !== undefined) steps.fellBack(partition, why)
  // The only device made a wrong proof of it: another kind of hardware tells whether that was the device's fault.
  const { doubt } = partition
  if (role !== 'device' || doubt === undefined || pool.serving > 1 || !circuits.placement.standsIn(circuitId))
    return role
  steps.fellBack(partition, doubt)
  return 'standIn'
}

async function proveOn(
  role: DeviceRole,
  steps: PartitionSteps,
  partition: Partition,
  input: PartitionInput,
  onTaken: OnTaken,
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
    synthesize(steps, partition, synthesizedBy(steps, partition, role, input), signal),
  )
  if (!witness.unchecked) partition.inputIsSound = true
  if (partition.suspicion !== undefined) acquit(steps, partition, partition.suspicion)
  room.turn.synthesized()
  room.memory.freed('synthesis')
  room.memory.isInput(inputBytesOf(witness, input))
  const proof = await proveOnDevice(steps, partition, { role, circuit, witness, room, onTaken })
  return { proof, circuit, loadMs }
}

/**
 * What devices check is not checked here, unless one has found fault with it, or has made a proof that does not hold:
 * it may have been blind to a fault.
 */
function synthesizedBy(
  { circuits }: PartitionSteps,
  { suspicion, doubt, inputIsSound }: Partition,
  role: DeviceRole,
  input: PartitionInput,
): PartitionInput {
  const doubtful = suspicion !== undefined || (doubt !== undefined && !inputIsSound)
  return !doubtful && circuits.placement.checksWitness(role) ? leftToDevice(input) : input
}

/**
 * The host found no fault where a device did: it is the device that is wrong, and is told of like one that makes wrong
 * proofs.
 * @throws {BeginAnew} always: the partition goes elsewhere, if it can
 */
function acquit(steps: PartitionSteps, partition: Partition, suspicion: SynthesisError): never {
  const { index, gpu, job } = partition
  const message =
    `partition ${index}: ${suspicion.message} as device ${gpu} computes it, and its input is sound: ` +
    'the device or the memory of this machine computes wrong'
  const doubt = new ProofInvalidError(message, { details: { partition: index }, jobId: job.id, cause: suspicion })
  partition.suspicion = undefined
  partition.doubt = doubt
  steps.verifyFailed(partition, 'a device found a fault in a sound input')
  steps.retry(partition, 2, doubt)
  throw new BeginAnew('the device was wrong', { cause: doubt })
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
      hopeless: () => circuits.placement.refusal(job.circuitId),
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

function proveOnDevice(steps: PartitionSteps, partition: Partition, work: DeviceWork): Promise<Uint8Array> {
  const { memory } = work.room
  let last: DeviceTry = {}
  return attempts(steps, partition, async () => {
    do {
      const { interrupted: cause } = last
      if (cause !== undefined && !memory.takeBack()) throw new MemoryTaken('others took it', { cause })
      last = await tryOnDevice(steps, partition, work)
      if (last.unsatisfied !== undefined) suspect(partition, last.unsatisfied)
      if (last.failed !== undefined) throw last.failed
    } while (last.proof === undefined)
    return last.proof
  })
}

/**
 * @throws {BeginAnew}, or {ProofInvalidError} if the host has found the input sound already: two devices can't be right
 * against it
 */
function suspect(partition: Partition, unsatisfied: SynthesisError): never {
  const { inputIsSound, doubt } = partition
  if (inputIsSound && doubt !== undefined) throw doubt
  partition.suspicion = unsatisfied
  throw new BeginAnew('the host checks it', { cause: unsatisfied })
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
