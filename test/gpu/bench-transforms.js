/** Rates of transforms and of the quotient, for bench.js. */
import { Elements } from '../../src/webgpu/elements.ts'
import { QuotientDomain } from '../../src/webgpu/ntt/quotient.ts'
import { Domain } from '../../src/webgpu/ntt/transform.ts'
import { recordSteps } from '../../src/webgpu/step.ts'
import { best } from './bench-support.js'

const run = { signal: new AbortController().signal, unit: () => {} }

export async function transforms(gpu) {
  for (const log2 of [19, 20, 22, 24]) {
    const domain = await Domain.create(gpu, log2)
    const elements = await Elements.allocate(gpu, 2 ** log2, 'elements')
    const steps = domain.analysis(elements.shards)
    const transform = async (times) => {
      const commands = gpu.commands('transform')
      for (let i = 0; i < times; i++) recordSteps(commands, steps)
      await commands.submit()
    }
    await transform(10)
    const ms = (await best(4, () => transform(10))) / 10
    console.log(`transform 2^${log2}: ${ms.toFixed(2)} ms`)
    domain.release()
    elements.release()
  }
  for (const log2 of [19]) {
    const tables = await QuotientDomain.create(gpu, log2)
    const [a, b] = [await Elements.allocate(gpu, 2 ** log2, 'a'), await Elements.allocate(gpu, 2 ** log2, 'b')]
    await tables.compute(a, b, run)
    console.log(`quotient 2^${log2}: ${(await best(4, () => tables.compute(a, b, run))).toFixed(2)} ms`)
  }
}
