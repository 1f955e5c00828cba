/**
 * What the benches of kernels share: the least of several times, time by label or kernel, points and scalars made on
 * the card.
 */
import { randomFillSync } from 'node:crypto'
import { BatchAffine, POINT_BYTES } from '../../src/webgpu/curve/batch-affine.ts'
import { Random } from './harness.ts'
import { packPoints, randomPoints } from './points.ts'

/** Milliseconds of the fastest of some runs. */
export async function best(times, work) {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) {
    const start = performance.now()
    await work()
    least = Math.min(least, performance.now() - start)
  }
  return least
}

/** Time and count of units by label, and what lies between them. */
export async function profile(gpu, work) {
  const units = new Map()
  gpu.onUnit = (label, ms) => {
    const { time, count } = units.get(label) ?? { time: 0, count: 0 }
    units.set(label, { time: time + ms, count: count + 1 })
  }
  const start = performance.now()
  await work()
  const whole = performance.now() - start
  gpu.onUnit = undefined
  const inside = [...units.values()].reduce((sum, { time }) => sum + time, 0)
  const parts = [...units]
    .sort((a, b) => b[1].time - a[1].time)
    .map(([label, { time, count }]) => `${label} ${time.toFixed(1)}/${count}`)
  return `${parts.join(', ')}, else ${(whole - inside).toFixed(1)}`
}

/**
 * The same by kernel: each operation is submitted and waited for by itself, which costs some ten microseconds each.
 * Work and its order stay as they are.
 * @param sizes tells kernels apart by the power of two of their threads, too
 */
export async function profileKernels(gpu, work, sizes = process.argv.includes('--sizes')) {
  const commandsOf = gpu.commands
  let last = Promise.resolve()
  const recorder = () => {
    const operations = []
    const add = (label, record) => {
      operations.push({ label, record })
      return commands
    }
    const commands = {
      get size() {
        return operations.length
      },
      dispatch: (kernel, dispatch) => {
        const size = sizes
          ? ` 2^${Math.round(Math.log2(dispatch.threads ?? 64 * Math.max(1, dispatch.workgroups)))}`
          : ''
        return add(kernel.name + size, (one) => one.dispatch(kernel, dispatch))
      },
      clear: (...range) => add('clear', (one) => one.clear(...range)),
      copy: (...range) => add('copy', (one) => one.copy(...range)),
      submit() {
        const before = last
        const all = async () => {
          await before
          let ms = 0
          for (const { label, record } of operations) ms += await record(commandsOf.call(gpu, label)).submit()
          return ms
        }
        const submitted = all()
        last = submitted
        return submitted
      },
    }
    return commands
  }
  gpu.commands = recorder
  for (const name of ['download', 'upload']) {
    gpu[name] = async (...range) => {
      await last
      return await Object.getPrototypeOf(gpu)[name].call(gpu, ...range)
    }
  }
  try {
    return await profile(gpu, work)
  } finally {
    delete gpu.commands
    delete gpu.download
    delete gpu.upload
  }
}

/** n distinct points: sums of every pair of two short lists. */
export async function distinctPoints(gpu, group, n, seed = 0) {
  const random = new Random()
  for (let i = 0; i < seed; i++) random.word()
  const side = 2 ** Math.ceil(Math.log2(n) / 2)
  const lists = [...randomPoints(group, side, random), ...randomPoints(group, side, random)]
  const points = await gpu.allocate(2 * side * POINT_BYTES[group], 'lists')
  await gpu.upload(points, 0, new Uint8Array(packPoints(lists, group).buffer))
  const slice = Math.min(n, 2 ** 20)
  const pairs = new Uint32Array(2 * slice)
  const list = await gpu.allocate(8 * slice, 'pairs')
  const adder = await BatchAffine.create(gpu, group, slice)
  const sums = await gpu.allocate(n * POINT_BYTES[group], 'points')
  const part = await gpu.allocate(slice * POINT_BYTES[group], 'points of a slice')
  for (let at = 0; at < n; at += slice) {
    const count = Math.min(slice, n - at)
    for (let i = 0; i < count; i++) {
      pairs[2 * i] = (at + i) % side
      pairs[2 * i + 1] = side + Math.floor((at + i) / side)
    }
    await gpu.upload(list, 0, new Uint8Array(pairs.buffer))
    const commands = gpu.commands('points')
    adder.record(commands, { points, source: { kind: 'list', pairs: list }, sums: part }, 0, count)
    await commands.copy(part, 0, sums, at * POINT_BYTES[group], count * POINT_BYTES[group]).submit()
  }
  adder.release()
  for (const buffer of [list, points, part]) gpu.release(buffer)
  return sums
}

/**
 * Canonical scalars in a buffer: `kindOf(i)` says which are 0, 1 or random (2). Randomness comes in blocks of 2^20
 * scalars; each block is another one's by an exclusive or with fresh words, which no digit of a window survives.
 */
export async function benchScalars(gpu, n, kindOf = () => 2) {
  const block = Math.min(n, 2 ** 20)
  const source = new Uint32Array(8 * block)
  randomFillSync(source)
  const words = new Uint32Array(8 * block)
  const turn = new Uint32Array(8)
  const scalars = await gpu.allocate(32 * n, 'scalars')
  for (let at = 0; at < n; at += block) {
    randomFillSync(turn)
    const count = Math.min(block, n - at)
    for (let i = 0; i < count; i++) {
      const kind = kindOf(at + i)
      for (let k = 0; k < 7; k++)
        words[8 * i + k] = kind === 2 ? source[8 * i + k] ^ turn[k] : kind === 1 && k === 0 ? 1 : 0
      // Below r: the top word is below its.
      words[8 * i + 7] = kind === 2 ? ((source[8 * i + 7] ^ turn[7]) >>> 0) % 0x73eda753 : 0
    }
    await gpu.upload(scalars, 32 * at, new Uint8Array(words.buffer, 0, 32 * count))
  }
  return scalars
}
