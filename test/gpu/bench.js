/**
 * Rates of the kernels on a real GPU: `node test/gpu/bench.js [PART …] [LOG2 …] [--kernels]`. Parts are `g1`, `g2`,
 * `bits`, `import` and `transforms` (all of them unless named); numbers are sizes of the sums. `--kernels` adds the
 * time of each kernel. Each figure is the best of several runs, after a warm-up that lifts the clocks.
 */

import { POINT_BYTES } from '../../src/webgpu/curve/batch-affine.ts'
import { EXPORT_KERNEL, recordExport } from '../../src/webgpu/curve/export-points.ts'
import { importKernels, recordCheck, recordConversion } from '../../src/webgpu/curve/import-points.ts'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { CarriedSum } from '../../src/webgpu/msm/carried-sum.ts'
import { maxPoints, multiexp } from '../../src/webgpu/msm/multiexp.ts'
import { windowBits } from '../../src/webgpu/msm/plan.ts'
import { QuerySum } from '../../src/webgpu/msm/query-sum.ts'
import { benchScalars, best, distinctPoints, profile, profileKernels } from './bench-support.js'

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const parts = words.filter((word) => Number.isNaN(Number(word)))
const sizes = words.filter((word) => !Number.isNaN(Number(word))).map(Number)
const wanted = (part) => parts.length === 0 || parts.includes(part)
const run = { signal: new AbortController().signal, unit: () => {} }
const WARM_UP_MS = 300
const gpu = await Gpu.open({ allowSoftware: process.argv.includes('--software') })
console.log(gpu.info.name, `binding ${gpu.limits.maxStorageBufferBindingSize}`)

/** Random scalars; past what a binding holds, as many tiles as a query of that length has. */
async function sums(group, logs) {
  const tile = Math.min(2 ** Math.max(...logs), maxPoints(gpu, group))
  const tiles = []
  for (let at = 0; at < 2 ** Math.max(...logs); at += tile) {
    tiles.push({ points: await distinctPoints(gpu, group, tile, at / tile), scalars: await benchScalars(gpu, tile) })
  }
  for (const log2 of logs) {
    const n = 2 ** log2
    const count = Math.min(n, tile)
    const chosen = windowBits({ group, count, bindingBytes: gpu.bindingBytes })
    const others = n > tile || process.argv.includes('--one-window') ? [] : [chosen - 2, chosen - 1]
    for (const window of [...others, chosen]) {
      const carried = n > tile ? CarriedSum.create(gpu, group, count, { window }) : undefined
      const work = async () => {
        for (const { points, scalars } of tiles.slice(0, n / count)) {
          if (carried === undefined) await multiexp(gpu, group, points, scalars, 0, count, run, { window })
          else await carried.add(points, { buffer: scalars, first: 0 }, count, run)
        }
        await carried?.finish(run)
      }
      await work()
      const ms = await best(n > 2 ** 23 ? 2 : 4, work)
      console.log(`multiexp ${group} 2^${log2} window ${window}: ${ms.toFixed(1)} ms (${await profile(gpu, work)})`)
      // A pause of the host is seen as time of some kernel, hence three times.
      for (let k = 0; k < 3 && process.argv.includes('--kernels'); k++)
        console.log(`  ${await profileKernels(gpu, work)}`)
      carried?.release()
    }
  }
  for (const { points, scalars } of tiles) {
    gpu.release(points)
    gpu.release(scalars)
  }
  gpu.trim()
}

/**
 * Scalars as seals have them, half of the bits set and three in two hundred wide: a range of a query, another one, and
 * what both leave.
 */
async function bits(group, log2) {
  const n = 2 ** log2
  const kindOf = (i) => {
    const hash = Math.imul(i ^ (i >>> 15), 0x2c1b3c6d) >>> 0
    return hash < 0.015 * 2 ** 32 ? 2 : (hash >>> 7) & 1
  }
  const points = await distinctPoints(gpu, group, n)
  const scalars = { buffer: await benchScalars(gpu, n, kindOf), first: 0 }
  const sum = new QuerySum(gpu, group)
  const times = []
  const work = async () => {
    times.length = 0
    for (const part of [
      () => sum.add(points, scalars, n, run),
      () => sum.add(points, scalars, n, run),
      () => sum.finish(run),
    ]) {
      const start = performance.now()
      await part()
      times.push((performance.now() - start).toFixed(1))
    }
  }
  await work()
  await work()
  console.log(`bit sum ${group}, ranges of 2^${log2}: ${times.join(' + ')} ms (${await profile(gpu, work)})`)
  if (process.argv.includes('--kernels')) console.log(`  ${await profileKernels(gpu, work)}`)
  sum.release()
  for (const buffer of [points, scalars.buffer]) gpu.release(buffer)
  gpu.trim()
}

/**
 * The kernels alone, warm: conversion of coordinates, the check of each point, and both. The points are valid: one that
 * is refused costs an atomic operation on a number that all share.
 */
async function imports(group, count) {
  const points = await distinctPoints(gpu, group, count)
  const encoded = await gpu.allocate(count * POINT_BYTES[group], 'encoded points')
  const firstBad = await gpu.allocate(16, 'first refused point')
  await gpu.upload(firstBad, 0, new Uint8Array(Uint32Array.of(count, 0, 0, 0).buffer))
  await gpu.prepare([EXPORT_KERNEL, ...importKernels(group)])
  const exporting = gpu.commands('export points')
  recordExport(exporting, group, points, encoded, count)
  await exporting.submit()
  const part = { encoded, points, firstBad, first: 0, count }
  const convert = (commands) => recordConversion(commands, group, part)
  const check = (commands) => recordCheck(commands, group, part)
  const repeat = gpu.info.software ? 1 : 8
  for (const [label, record] of [
    ['convert', convert],
    ['check', check],
    ['import', (commands) => check(convert(commands))],
  ]) {
    const work = async () => {
      const commands = gpu.commands(label)
      for (let k = 0; k < repeat; k++) record(commands)
      await commands.submit()
    }
    // The clocks fell while points were made on the host.
    for (const from = performance.now(); performance.now() < from + WARM_UP_MS; ) await work()
    const ms = (await best(4, work)) / repeat
    console.log(
      `${label} ${group}, ${count} points: ${ms.toFixed(3)} ms, ${((count / ms) * 1e-6).toFixed(3)} G points/s`,
    )
  }
  const [first] = new Uint32Array((await gpu.download(firstBad, 0, 4)).buffer)
  if (first !== count) throw new Error(`point ${first} was refused`)
  for (const buffer of [encoded, points, firstBad]) gpu.release(buffer)
  gpu.trim()
}

if (wanted('g1')) await sums('g1', sizes.length > 0 ? sizes : [18, 20, 22])
if (wanted('g2')) await sums('g2', sizes.length > 0 && parts.includes('g2') ? sizes : [18])
if (wanted('bits')) {
  await bits('g1', sizes.length > 0 && parts.includes('bits') ? Math.max(...sizes) : 22)
  await bits('g2', sizes.length > 0 && parts.includes('bits') ? Math.max(...sizes) - 1 : 20)
}
if (wanted('import'))
  for (const group of ['g1', 'g2']) await imports(group, gpu.info.software ? 64 : 2 ** (group === 'g1' ? 22 : 21))
if (wanted('transforms')) {
  const { quotients, transforms } = await import('./bench-transforms.js')
  const logs = parts.includes('transforms') && sizes.length > 0 ? sizes : undefined
  await transforms(gpu, logs)
  await quotients(gpu, logs)
}
await gpu.close()
