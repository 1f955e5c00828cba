/**
 * Rates of the kernels on a real GPU: `node test/gpu/bench.js [log2 …]` (sizes of the sums; 18 20 22 unless given).
 * Each figure is the best of several runs, after a warm-up that lifts the clocks.
 */

import { BatchAffine, POINT_BYTES } from '../../src/webgpu/curve/batch-affine.ts'
import { IMPORT_KERNEL, importPoints } from '../../src/webgpu/curve/import-points.ts'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { multiexp, windowBits } from '../../src/webgpu/msm/multiexp.ts'
import { QuotientDomain } from '../../src/webgpu/ntt/quotient.ts'
import { Domain } from '../../src/webgpu/ntt/transform.ts'
import { Random } from './harness.ts'
import { packPoints, randomPoints } from './points.ts'

const sizes = process.argv.slice(2).map(Number)
const run = { signal: new AbortController().signal, unit: () => {} }
const gpu = await Gpu.open({ allowSoftware: process.argv.includes('--software') })
console.log(gpu.info.name, `binding ${gpu.limits.maxStorageBufferBindingSize}`)

async function best(times, work) {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < times; i++) {
    const start = performance.now()
    await work()
    least = Math.min(least, performance.now() - start)
  }
  return least
}

/** Time and count of units by label, and what lies between them. */
async function profile(work) {
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
  const parts = [...units].map(([label, { time, count }]) => `${label} ${time.toFixed(1)}/${count}`)
  return `${parts.join(', ')}, else ${(whole - inside).toFixed(1)}`
}

/** n distinct points: sums of every pair of two short lists. */
async function distinctPoints(group, n) {
  const random = new Random()
  const side = 2 ** Math.ceil(Math.log2(n) / 2)
  const lists = [...randomPoints(group, side, random), ...randomPoints(group, side, random)]
  const points = await gpu.allocate(2 * side * POINT_BYTES[group], 'lists')
  await gpu.upload(points, 0, new Uint8Array(packPoints(lists, group).buffer))
  const pairs = new Uint32Array(2 * n)
  for (let i = 0; i < n; i++) {
    pairs[2 * i] = i % side
    pairs[2 * i + 1] = side + Math.floor(i / side)
  }
  const list = await gpu.allocate(8 * n, 'pairs')
  await gpu.upload(list, 0, new Uint8Array(pairs.buffer))
  const slice = Math.min(n, 2 ** 20)
  const adder = await BatchAffine.create(gpu, group, slice)
  const sums = await gpu.allocate(n * POINT_BYTES[group], 'points')
  for (let at = 0; at < n; at += slice) {
    const commands = gpu.commands('points')
    adder.record(commands, { points, source: { kind: 'list', pairs: list }, sums }, at, slice)
    await commands.submit()
  }
  adder.release()
  gpu.release(list)
  gpu.release(points)
  return sums
}

for (const [group, logs] of [
  ['g1', sizes.length > 0 ? sizes : [18, 20, 22]],
  ['g2', [18]],
]) {
  const largest = 2 ** Math.max(...logs)
  const points = await distinctPoints(group, largest)
  const scalars = await gpu.allocate(32 * largest, 'scalars')
  const words = new Uint32Array(8 * largest)
  const random = new Random()
  // Below r: the top word is below its.
  for (let i = 0; i < words.length; i++) words[i] = i % 8 === 7 ? random.word() % 0x73eda753 : random.word()
  await gpu.upload(scalars, 0, new Uint8Array(words.buffer))
  for (const log2 of logs) {
    const n = 2 ** log2
    const windows = [...new Set([windowBits(n) - 2, windowBits(n) - 1, windowBits(n)])]
    for (const window of windows) {
      await multiexp(gpu, group, points, scalars, 0, n, run, { window })
      const ms = await best(4, () => multiexp(gpu, group, points, scalars, 0, n, run, { window }))
      const units = await profile(() => multiexp(gpu, group, points, scalars, 0, n, run, { window }))
      console.log(`multiexp ${group} 2^${log2} window ${window}: ${ms.toFixed(1)} ms (${units})`)
    }
  }
  // Big-endian bytes are random here: the check refuses them, the work is the same.
  await gpu.prepare([IMPORT_KERNEL[group]])
  const ms = await best(5, () => importPoints(gpu, group, scalars, points, largest / (group === 'g1' ? 4 : 8)))
  console.log(`import ${group}: ${((largest / (group === 'g1' ? 4 : 8) / ms) * 1e-6).toFixed(3)} G points/s`)
  gpu.release(points)
  gpu.release(scalars)
  gpu.trim()
}

for (const log2 of [19, 20, 22, 24]) {
  const domain = await Domain.create(gpu, log2)
  const elements = await gpu.allocate(32 * 2 ** log2, 'elements')
  const transform = async (times) => {
    const commands = gpu.commands('transform')
    for (let i = 0; i < times; i++) domain.recordAnalysis(commands, elements)
    await commands.submit()
  }
  await transform(10)
  const ms = (await best(4, () => transform(10))) / 10
  console.log(`transform 2^${log2}: ${ms.toFixed(2)} ms`)
  domain.release()
  gpu.release(elements)
}
for (const log2 of [19]) {
  const tables = await QuotientDomain.create(gpu, log2)
  const [a, b] = [await gpu.allocate(32 * 2 ** log2, 'a'), await gpu.allocate(32 * 2 ** log2, 'b')]
  await tables.compute(a, b, run)
  console.log(`quotient 2^${log2}: ${(await best(4, () => tables.compute(a, b, run))).toFixed(2)} ms`)
}
await gpu.close()
