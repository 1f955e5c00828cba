/** Rates of transforms and of the quotient, for bench.js. */
import { Elements } from '../../src/webgpu/elements.ts'
import { QuotientDomain } from '../../src/webgpu/ntt/quotient.ts'
import { Domain } from '../../src/webgpu/ntt/transform.ts'
import { recordSteps } from '../../src/webgpu/step.ts'
import { best } from './bench-support.js'

const run = { signal: new AbortController().signal, unit: () => {} }

/** @param log2s sizes; those past what the device serves are left out by the caller */
export async function transforms(gpu, log2s = [19, 20, 22, 24]) {
  for (const log2 of log2s) {
    const domain = await Domain.create(gpu, log2)
    const elements = await Elements.allocate(gpu, 2 ** log2, 'elements')
    const repeat = Math.max(1, Math.min(10, 2 ** (25 - log2)))
    const timed = async (steps) => {
      const transform = async () => {
        const commands = gpu.commands('transform')
        for (let i = 0; i < repeat; i++) recordSteps(commands, steps)
        await commands.submit()
      }
      await transform()
      return (await best(4, transform)) / repeat
    }
    const analysis = domain.analysis(elements.shards)
    const passes = []
    // Shards that go through the same kernel with the same parameters count as one pass.
    const groups = Map.groupBy(analysis, ({ kernel, params }) => `${kernel.name} ${params.slice(1, 3)}`)
    for (const [name, steps] of groups) passes.push(`${name}: ${(await timed(steps)).toFixed(2)}`)
    const [down, up] = [await timed(analysis), await timed(domain.synthesis(elements.shards))]
    console.log(
      `transform 2^${log2}: analysis ${down.toFixed(2)} ms, synthesis ${up.toFixed(2)} ms (${passes.join(', ')})`,
    )
    domain.release()
    elements.release()
    gpu.trim()
  }
  for (const log2 of log2s.filter((log2, i) => i === 0 || log2 > 24)) {
    const tables = await QuotientDomain.create(gpu, log2)
    const [a, b] = [await Elements.allocate(gpu, 2 ** log2, 'a'), await Elements.allocate(gpu, 2 ** log2, 'b')]
    await tables.compute(a, b, run)
    console.log(`quotient 2^${log2}: ${(await best(3, () => tables.compute(a, b, run))).toFixed(2)} ms`)
    a.release()
    b.release()
    tables.release()
    gpu.trim()
  }
}
