/** The request of a child process that runs on the built package alone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The first partition of a recorded WindowPoSt, from the folder of its `request.json`. */
export function recordedWindow(folder) {
  const { registered_proof, miner_id, randomness, sectors } = JSON.parse(
    readFileSync(join(folder, 'request.json'), 'utf8'),
  )
  return {
    kind: 'window-post',
    registeredProof: registered_proof,
    minerId: BigInt(miner_id),
    partitionIndex: 0,
    randomness: Buffer.from(randomness, 'hex'),
    vanillaProofs: sectors.map(({ vanilla }) => new Uint8Array(readFileSync(join(folder, vanilla)))),
  }
}
