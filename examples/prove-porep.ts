/**
 * A sector's seal, from the commit-phase-1 output on disk to the bytes of `ProveCommit`.
 *
 *     node scripts/run.js examples/prove-porep.ts
 */
import { readFileSync } from 'node:fs'
import { Engine, type PorepC2Request } from 'wgzk'
import { developmentParameters } from './support/development-parameters.ts'

const parameterCache = await developmentParameters('porep-2k') // takes a minute or two, once; a real miner leaves this out

const request: PorepC2Request = {
  kind: 'porep-c2',
  registeredProof: 'StackedDrg2KiBV1_1',
  minerId: 3093900n,
  sectorNumber: 168229961122n,
  vanillaProof: readFileSync(new URL('data/porep-2k/c1.json', import.meta.url)),
  commD: Buffer.from('8352dc700174bf1815799cd12658ec43187f60d5b0a23d99815cd570aec2f008', 'hex'),
  commR: Buffer.from('75ccbd7bab4ba0f582a67602fb1643e989f0bc236c88dd787ca1cb2774283d17', 'hex'),
}

await using engine = await Engine.create({ parameterCache, allowDevelopmentParameters: true })
const { proof, timings } = await engine.prove(request)
console.log(`${proof.length} bytes in ${timings.totalMs.toFixed(0)} ms: ${Buffer.from(proof).toString('hex')}`)
