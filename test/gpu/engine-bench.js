/**
 * WinningPoSt 32 GiB through `engine.prove`, verification included, on every GPU of the machine: `node test/gpu/engine-bench.js [--idle]`.
 * Warm; with `--idle` also after 60 s without work, when a card has lowered its clocks. Then as many at once as there are GPUs.
 */
import { developmentSetup, Engine } from '../../dist/index.js'
import { winning32Request } from '../support/fixtures.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

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
  const parts = Object.entries(timings).map(([key, ms]) => `${key} ${ms.toFixed(0)}`)
  console.log(`${label}: ${(now() - start).toFixed(0)} ms, verified ${verified} (${parts.join(', ')})`)
}
await prove('first proof')
await engine.preload('winning-32g')
for (let i = 0; i < 6; i++) await prove('warm proof')
const used = new Set()
engine.on('partition', ({ state, gpu }) => void (state === 'gpu' && used.add(gpu)))
start = now()
const many = 4 * gpus().length
await Promise.all(Array.from({ length: many }, () => engine.prove(request)))
console.log(`${many} at once: ${((now() - start) / many).toFixed(0)} ms each, on devices ${[...used].join(' and ')}`)
if (process.argv.includes('--idle')) {
  await new Promise((resolve) => setTimeout(resolve, 60_000))
  await prove('after 60 s without work')
}
await engine.close()
removeDirectory(directory)
