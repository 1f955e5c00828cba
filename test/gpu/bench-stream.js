/**
 * How fast points come from a file onto a GPU and get from a GPU into a file:
 * `node test/gpu/bench-stream.js [--gib=4] [--folder=.] [--software]`.
 *
 * Prints the rate of each step alone: writing (one call or several at a time), reading into memory and into mapped
 * staging buffers, reading with import, encoding with reading back (one copy or several at a time), and the digest. The
 * file is read right after it was written: how fast a disk is beyond the page cache shows in writing, and in what
 * `iostat` tells.
 */
import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EXPORT_KERNEL, recordExport } from '../../src/webgpu/curve/export-points.ts'
import { IMPORT_KERNEL, streamPoints } from '../../src/webgpu/curve/import-points.ts'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { STAGING_BYTES } from '../../src/webgpu/staging-plan.ts'
import { distinctPoints } from './bench-support.js'

const option = (name, fallback) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback
const bytes = Number(option('gib', 4)) * 2 ** 30
const file = join(option('folder', '.'), `bench-stream-${process.pid}.tmp`)
const run = { signal: new AbortController().signal, unit: () => {} }
/** Encoded points of G1 that are handled together. */
const BLOCK = Math.min(2 ** 22, bytes / 128)
const POINT_BYTES = 96

async function rate(label, count, work) {
  const start = performance.now()
  const cpu = process.cpuUsage()
  await work()
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  const busy = ((user + system) / 1000 / ms).toFixed(1)
  console.log(`${label}: ${(count / ms / 1e6).toFixed(2)} GB/s (${(ms / 1000).toFixed(2)} s, ${busy} cores)`)
}

/** Parts of the file, several in hand at a time. */
async function inParts(total, part, atOnce, work) {
  let next = 0
  const one = async (k) => {
    while (next < total) {
      const at = next
      next += part
      await work(at, Math.min(part, total - at), k)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, (_, k) => one(k)))
}

const gpu = await Gpu.open({ allowSoftware: process.argv.includes('--software') })
await gpu.prepare([EXPORT_KERNEL, IMPORT_KERNEL.g1])
const points = await distinctPoints(gpu, 'g1', BLOCK)
const encoded = await gpu.allocate(BLOCK * POINT_BYTES, 'encoded points')
const commands = gpu.commands('export points')
recordExport(commands, 'g1', points, encoded, BLOCK)
await rate('encode', BLOCK * POINT_BYTES, () => commands.submit())
const block = new Uint8Array(BLOCK * POINT_BYTES)
for (const part of [16 * 2 ** 20, 96 * 2 ** 20]) {
  for (const atOnce of [1, 2, 4]) {
    for (let round = 0; round < 2; round++) {
      await rate(`read back, ${atOnce} of ${part} bytes at a time`, block.length, () =>
        inParts(block.length, part, atOnce, async (at, size) => {
          block.set(await gpu.download(encoded, at, size), at)
        }),
      )
    }
  }
}
await rate('BLAKE2b-512', block.length, async () => createHash('blake2b512').update(block).digest())

const whole = Math.floor(bytes / block.length) * block.length
for (const atOnce of [1, 4]) {
  const handle = await open(file, 'w')
  await rate(`write, ${atOnce} of ${STAGING_BYTES} bytes at a time`, whole, () =>
    inParts(whole, STAGING_BYTES, atOnce, async (at, size) => {
      const from = at % block.length
      const first = Math.min(size, block.length - from)
      await handle.write(block, from, first, at)
      if (first < size) await handle.write(block, 0, size - first, at + first)
    }),
  )
  await handle.close()
}
const handle = await open(file, 'r')
for (const atOnce of [1, 4]) {
  const targets = Array.from({ length: atOnce }, () => new Uint8Array(STAGING_BYTES))
  await rate(`read, ${atOnce} at a time`, whole, () =>
    inParts(whole, STAGING_BYTES, atOnce, (at, size, k) => handle.read(targets[k], 0, size, at)),
  )
}
await rate('read into staging buffers, and copy on the device', whole, () =>
  inParts(whole, STAGING_BYTES, 4, (at, size) =>
    gpu.staging.send(
      size,
      async (target) => void (await handle.read(target, 0, size, at)),
      (staging) => {
        const encoder = gpu.device.createCommandEncoder()
        encoder.copyBufferToBuffer(staging, 0, encoded, at % STAGING_BYTES, size)
        gpu.device.queue.submit([encoder.finish()])
      },
    ),
  ),
)
for (let round = 0; round < 2; round++) {
  gpu.pace.limit = 2 ** 25
  await rate('read and import', whole, async () => {
    for (let at = 0; at < whole; at += block.length) {
      const read = async (first, target) => void (await handle.read(target, 0, target.length, at + first * POINT_BYTES))
      const bad = await streamPoints(gpu, 'g1', BLOCK, read, points, run)
      if (bad !== undefined) throw new Error(`point ${bad} is refused`)
    }
  })
}
await handle.close()
await rm(file)
await gpu.close()
