/**
 * WinningPoSt 32 GiB through `engine.prove`, verification included, on every GPU of the machine:
 *
 *     node test/gpu/engine-bench.js [--proofs 6] [--idle SECONDS]
 *
 * The first one after a preload; then one after another, warm: each, and how the times of each phase are distributed.
 * Then as many at once as there are GPUs; with `--idle` also after so long without work, when a card has lowered its
 * clocks, and after a preload that raises them.
 */
import { parseArgs } from 'node:util'
import { developmentSetup, Engine } from '../../dist/index.js'
import { winning32Request } from '../support/fixtures.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const { values } = parseArgs({
  options: { proofs: { type: 'string', default: '6' }, idle: { type: 'string' } },
})
const directory = temporaryDirectory()
const now = () => performance.now()
let start = now()
await developmentSetup('winning-32g', { directory })
console.log(`development parameters: ${(now() - start).toFixed(0)} ms`)

start = now()
const engine = await Engine.create({
  parameterCache: directory,
  allowDevelopmentParameters: true,
  gpu: { fallback: 'never' },
})
console.log(`Engine.create: ${(now() - start).toFixed(0)} ms`)
const gpus = () =>
  engine.status().gpus.map(({ ordinal, name, state, device }) => `${ordinal}: ${name} (device ${device}) ${state}`)
console.log(gpus().join('\n'))
const request = winning32Request()
const prove = async (label) => {
  start = now()
  const { timings, verified } = await engine.prove(request)
  const wholeMs = now() - start
  const parts = Object.entries(timings).map(([key, ms]) => `${key} ${ms.toFixed(0)}`)
  console.log(`${label}: ${wholeMs.toFixed(0)} ms, verified ${verified} (${parts.join(', ')})`)
  return { wholeMs, ...timings }
}
/** Least, median, 90th and 99th of a hundred, and most of each phase. */
function distribution(rounds) {
  for (const key of Object.keys(rounds[0])) {
    const sorted = rounds.map((round) => round[key]).sort((a, b) => a - b)
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(0)
    console.log(`  ${key}: least ${at(0)}, median ${at(0.5)}, 90 % ${at(0.9)}, 99 % ${at(0.99)}, most ${at(1)} ms`)
  }
}
start = now()
await engine.preload('winning-32g')
console.log(`preload: ${(now() - start).toFixed(0)} ms`)
await prove('first proof')
const rounds = []
for (let i = 0; i < Number(values.proofs); i++) rounds.push(await prove('warm proof'))
distribution(rounds)
const used = new Set()
engine.on('partition', ({ state, gpu }) => void (state === 'gpu' && used.add(gpu)))
start = now()
const many = 4 * gpus().length
await Promise.all(Array.from({ length: many }, () => engine.prove(request)))
console.log(`${many} at once: ${((now() - start) / many).toFixed(0)} ms each, on devices ${[...used].join(' and ')}`)
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
if (values.idle !== undefined) {
  await pause(1000 * Number(values.idle))
  await prove(`after ${values.idle} s without work`)
  await pause(1000 * Number(values.idle))
  await engine.preload('winning-32g')
  await pause(600)
  await prove('the same, 0.6 s after another preload')
}
await engine.close()
removeDirectory(directory)
