/**
 * New data in a sealed sector (SnapDeals), from the vanilla proofs on disk to the bytes of `ProveReplicaUpdates`.
 *
 *     node scripts/run.js examples/prove-snap.ts
 */
import { readFileSync } from 'node:fs'
import { Engine, type SnapUpdateRequest } from 'wgzk'
import { developmentParameters } from './support/development-parameters.ts'

const parameterCache = await developmentParameters('snap-2k') // takes a minute or two, once; a real miner leaves this out

const request: SnapUpdateRequest = {
  kind: 'snap-update',
  registeredProof: 'StackedDrg2KiBV1',
  minerId: 3093900n,
  sectorNumber: 168229961122n,
  commROld: Buffer.from('75ccbd7bab4ba0f582a67602fb1643e989f0bc236c88dd787ca1cb2774283d17', 'hex'),
  commRNew: Buffer.from('ecc56a1c41f3c72569075e048ab72242d3e8a7b1df2001fa9cf5481a95cef72f', 'hex'),
  commDNew: Buffer.from('be0dc5a6b0a633042d0fcfdaf0417d3e8d5d311f31b122b86f8fa1ad2552c23b', 'hex'),
  vanillaProofs: [readFileSync(new URL('data/snap-2k/partition-0.bin', import.meta.url))], // 16 of them for 32 GiB
}

await using engine = await Engine.create({ parameterCache, allowDevelopmentParameters: true })
const { proof, timings } = await engine.prove(request)
console.log(`${proof.length} bytes in ${timings.totalMs.toFixed(0)} ms: ${Buffer.from(proof).toString('hex')}`)
