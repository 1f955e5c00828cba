/**
 * Development parameters made in device memory:
 * `node test/gpu/bench-setup.js [--software] [--range=log2] [--limit=seconds] circuit …`. Prints the seconds and bytes
 * of each phase, and the units of work that took longest. A circuit that is not done within the limit is given up.
 */
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { paramsLayout, QUERIES } from '../../src/params/layout.ts'
import { drawToxicWaste } from '../../src/srs/toxic-waste.ts'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { GpuSetup } from '../../src/webgpu/setup/device-setup.ts'

const option = (name, fallback) => {
  const found = process.argv.find((argument) => argument.startsWith(`--${name}=`))
  return found === undefined ? fallback : Number(found.slice(name.length + 3))
}
const circuits = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const range = 2 ** option('range', 21)
const limitMs = 1000 * option('limit', 120)

const gpu = await Gpu.open({ allowSoftware: process.argv.includes('--software') })
const gibibytes = (bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`
console.log(`${gpu.info.name}, bindings of ${gibibytes(gpu.bindingBytes)}`)

let units = new Map()
gpu.onUnit = (label, ms) => {
  const { time, count, most } = units.get(label) ?? { time: 0, count: 0, most: 0 }
  units.set(label, { time: time + ms, count: count + 1, most: Math.max(most, ms) })
}

/** Runs a phase, and tells its time and what its units took. */
async function phase(name, work, points = 0) {
  units = new Map()
  const start = performance.now()
  const result = await work()
  const ms = performance.now() - start
  const inside = [...units.values()].reduce((sum, { time }) => sum + time, 0)
  const parts = [...units].map(([label, u]) => `${label} ${u.time.toFixed(0)} ms/${u.count} (≤ ${u.most.toFixed(0)})`)
  const rate = points === 0 ? '' : `, ${(points / ms / 1000).toFixed(2)} M points/s`
  console.log(
    `  ${name}: ${(ms / 1000).toFixed(2)} s${rate}, used ${gibibytes(gpu.usedBytes)}, allocated ${gibibytes(gpu.allocatedBytes)}; ${parts.join(', ')}, between ${(ms - inside).toFixed(0)} ms`,
  )
  return result
}

for (const circuitId of circuits) {
  console.log(circuitId)
  const run = { signal: AbortSignal.timeout(limitMs), unit: () => {} }
  const buffers = []
  const from = performance.now()
  try {
    const shape = await phase('shape', () => circuitShape(circuitId))
    const wrap = (_group, _count, buffer) => ({ release: () => gpu.release(buffer), buffer })
    const toxic = drawToxicWaste(shape.log2Domain)
    const setup = await phase('columns, tables, key', () =>
      GpuSetup.create(gpu, shape, toxic, { g1: range, g2: range }, wrap, run),
    )
    const { queries, fileBytes } = paramsLayout(shape)
    for (const query of QUERIES) {
      const { points } = queries[query]
      const count = Math.ceil(points / range)
      await phase(
        query,
        async () => {
          for (let k = 0; k < count; k++) {
            const first = Math.floor((points * k) / count)
            const size = Math.floor((points * (k + 1)) / count) - first
            buffers.push(await setup.points({ query, first, count: size }, run))
          }
        },
        points,
      )
    }
    await phase('release', () => setup.release())
    const seconds = (performance.now() - from) / 1000
    console.log(`  all: ${seconds.toFixed(2)} s for parameters of ${gibibytes(fileBytes)}`)
  } catch (error) {
    console.log(`  failed after ${((performance.now() - from) / 1000).toFixed(1)} s: ${error.stack}`)
  }
  for (const points of buffers) points.release()
  gpu.trim()
}
console.log(`host: ${gibibytes(process.resourceUsage().maxRSS * 1024)} at most`)
await gpu.close()
