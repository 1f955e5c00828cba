/**
 * The least an embedder writes: one WindowPoSt, from vanilla proofs on disk to the bytes of the chain message.
 *
 *     node scripts/run.js examples/prove-window-post.ts
 */
import { readFileSync } from 'node:fs'
import { Engine, type WindowPostRequest } from 'wgzk'
import { developmentParameters } from './support/development-parameters.ts'

const parameterCache = await developmentParameters('wpost-2k') // a real miner leaves this out: published ones are found by default
const vanillaProof = (index: number) => readFileSync(new URL(`data/window-2k/vanilla-${index}.bin`, import.meta.url))

const request: WindowPostRequest = {
  kind: 'window-post',
  registeredProof: 'StackedDrgWindow2KiBV1_1',
  minerId: 3093900n,
  partitionIndex: 0,
  randomness: Buffer.from('198574f2569614b09baca43d7b42b6075dd9d8e15350b290d2434c5e4799ea3c', 'hex'),
  vanillaProofs: [vanillaProof(0), vanillaProof(1)],
}

await using engine = await Engine.create({ parameterCache, allowDevelopmentParameters: true })
const { proof, timings } = await engine.prove(request, { signal: AbortSignal.timeout(60_000) })
console.log(`${proof.length} bytes in ${timings.totalMs.toFixed(0)} ms: ${Buffer.from(proof).toString('hex')}`)
