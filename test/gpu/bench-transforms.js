/** Rates of transforms and of the quotient, for bench.js. */
import { Elements } from '../../src/webgpu/elements.ts'
import { QuotientDomain } from '../../src/webgpu/ntt/quotient.ts'
import { Domain } from '../../src/webgpu/ntt/transform.ts'
import { recordSteps } from '../../src/webgpu/step.ts'
import { best } from './bench-support.js'

const run = { signal: new AbortController().signal, unit: () => {} }

/** Both directions, and each round of an analysis. */
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
      return ((await best(4, transform)) / repeat).toFixed(2)
    }
    const analysis = domain.analysis(elements.shards)
    const [down, up] = [await timed(analysis), await timed(domain.synthesis(elements.shards))]
    // Steps that do the same to different shards are one round: of so many levels before its group, levels of it, and
    // levels of it before the round.
    const rounds = new Map()
    for (const step of analysis) {
      const name = step.params.slice(1, 4).join('/')
      rounds.set(name, [...(rounds.get(name) ?? []), step])
    }
    const parts = []
    for (const [name, steps] of rounds) parts.push(`${name}: ${await timed(steps)}`)
    console.log(`transform 2^${log2}: analysis ${down} ms, synthesis ${up} ms (${parts.join(', ')})`)
    domain.release()
    elements.release()
    gpu.trim()
  }
}

export async function quotients(gpu, log2s = [19]) {
  for (const log2 of log2s) {
    const tables = await QuotientDomain.create(gpu, log2)
    const [a, b] = [await Elements.allocate(gpu, 2 ** log2, 'a'), await Elements.allocate(gpu, 2 ** log2, 'b')]
    await tables.compute(a, b, run)
    console.log(`quotient 2^${log2}: ${(await best(4, () => tables.compute(a, b, run))).toFixed(2)} ms`)
    for (const resource of [a, b, tables]) resource.release()
    gpu.trim()
  }
}
