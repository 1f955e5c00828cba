/** Reads the recorded vectors of the reference prover under test/vectors. */
import { readFileSync } from 'node:fs'

export function vectorFile(path: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(`../vectors/${path}`, import.meta.url)))
}

// biome-ignore lint/suspicious/noExplicitAny: the files' forms differ, and tests check what they read
export function vectorJson(path: string): any {
  return JSON.parse(Buffer.from(vectorFile(path)).toString('utf8'))
}

export function fromHex(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, 'hex'))
}

/** A recorded proof with its public inputs, one list a partition. */
export interface ProofVector {
  readonly vk: Uint8Array
  readonly proof: Uint8Array
  readonly publicInputs: readonly (readonly Uint8Array[])[]
}

/** @param name e.g. `window-3`; @param key e.g. `window-2KiB` */
export function proofVector(folder: string, name: string, key: string): ProofVector {
  const keyFolder = folder.split('/')[0]
  return {
    vk: vectorFile(`${keyFolder}/${key}.vk`),
    proof: fromHex(vectorJson(`${folder}/proof-${name}.json`).proof),
    publicInputs: vectorJson(`${folder}/witness-${name}.json`).partitions.map(
      (partition: { public_inputs: string[] }) => partition.public_inputs.map(fromHex),
    ),
  }
}
