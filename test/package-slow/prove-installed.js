/**
 * A user's program in plain JavaScript, run by installed.test.ts in a folder where the packed package is installed:
 *
 *     node prove.js DATA PARAMETERS
 *
 * Proves and verifies the WindowPoSt in DATA with fresh development parameters in PARAMETERS, and prints what it saw as
 * JSON.
 */
import { readFileSync } from 'node:fs'
import { developmentSetup, Engine, ProverError, verifyProof } from 'wgzk'

const [data, directory] = process.argv.slice(2)
const { miner_id, randomness, sectors } = JSON.parse(readFileSync(`${data}/request.json`, 'utf8'))
const request = {
  kind: 'window-post',
  registeredProof: 'StackedDrgWindow2KiBV1_1',
  minerId: BigInt(miner_id),
  partitionIndex: 0,
  randomness: Buffer.from(randomness, 'hex'),
  vanillaProofs: sectors.map(({ vanilla }) => readFileSync(`${data}/${vanilla}`)),
}

await developmentSetup('wpost-2k', { directory })
const parameters = { parameterCache: directory, allowDevelopmentParameters: true }
const engine = await Engine.create({ ...parameters, cpu: { relaxedSimd: 'enable' } })
const device = engine.status().gpus[0].name
const { proof, development } = await engine.prove(request)
const valid = await verifyProof(request, proof, parameters)
const refused = await verifyProof(
  request,
  proof.map((byte, index) => (index === 100 ? byte ^ 1 : byte)),
  parameters,
)
const wrong = await engine.prove({ ...request, randomness: new Uint8Array(31) }).catch((error) => error)
await engine.close()

console.log(
  JSON.stringify({
    node: process.version,
    device,
    bytes: proof.length,
    development,
    valid,
    refused: !refused,
    code: ProverError.is(wrong) && wrong.code,
  }),
)
