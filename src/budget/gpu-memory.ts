/**
 * Which circuits can never fit the memory that GPUs have of their own, and why. What is given out of it and when is the
 * device's affair.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { DeviceInfo } from '../device/device-spec.ts'
import { BudgetExceededError } from '../errors.ts'
import { type GpuMemory, leastGpuBytes, planGpu } from '../webgpu/working-set.ts'
import { type CircuitSize, circuitSize } from './circuit-sizes.ts'

/** WebGPU's default, which every adapter has. */
const LEAST_BINDING_BYTES: number = 2 ** 27

const bindingBytesOf = ({ adapter }: DeviceInfo): number =>
  adapter?.limits.maxStorageBufferBindingSize ?? LEAST_BINDING_BYTES

const known = new Map<string, number>()

/** A plan takes a millisecond, and every step of every job asks: it is the same as long as the device is. */
function remembered(key: string, bytes: () => number): number {
  const found = known.get(key) ?? bytes()
  known.set(key, found)
  return found
}

/** As {@link leastGpuBytes}. */
const leastBytes = (circuitId: CircuitId, bindingBytes: number): number =>
  remembered(`${circuitId} ${bindingBytes}`, () => leastGpuBytes(circuitSize(circuitId) as CircuitSize, bindingBytes))

/** What is set aside for a preloaded circuit. */
const asideBytes = (circuitId: CircuitId, memory: Required<GpuMemory>): number =>
  remembered(`${circuitId} ${memory.bindingBytes} of ${memory.memoryBytes}`, () => {
    const { workingBytes, shapeBytes } = planGpu(circuitSize(circuitId) as CircuitSize, memory)
    return workingBytes + shapeBytes
  })

/**
 * Why a circuit fits the memory of none of these devices, if so.
 * @param memoryBytes of each; absent where it is not known
 * @param preloaded circuits whose working set is set aside for good
 */
export function gpuMemoryRefusal(
  circuitId: CircuitId,
  infos: readonly DeviceInfo[],
  memoryBytes: number | undefined,
  preloaded: Iterable<CircuitId>,
): BudgetExceededError | undefined {
  if (memoryBytes === undefined || infos.some(({ kind }) => kind !== 'webgpu')) return undefined
  const others = [...preloaded].filter((other) => other !== circuitId)
  const needs = infos.map((info) => {
    const bindingBytes = bindingBytesOf(info)
    const kept = others.map((other) => asideBytes(other, { memoryBytes, bindingBytes }))
    return { least: leastBytes(circuitId, bindingBytes), kept: kept.reduce((sum, bytes) => sum + bytes, 0) }
  })
  const total = ({ least, kept }: (typeof needs)[0]): number => least + kept
  const [smallest] = needs.sort((a, b) => total(a) - total(b))
  if (smallest === undefined || total(smallest) <= memoryBytes) return undefined
  const kept = smallest.kept === 0 ? '' : ` beside ${smallest.kept} that are set aside for what was preloaded`
  return new BudgetExceededError(
    `a partition of ${circuitId} needs ${smallest.least} bytes of device memory, parameters streamed${kept}; gpu.memoryBytes is ${memoryBytes}`,
    {
      details: {
        field: 'gpu.memoryBytes',
        expected: `at least ${total(smallest)}`,
        received: String(memoryBytes),
        device: infos.map(({ name }) => name).join(', '),
      },
    },
  )
}
