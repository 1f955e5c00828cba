import { frFromBytes } from '../../src/field/fr.ts'
import type { ToxicWaste } from '../../src/params/toxic-waste.ts'
import { fromHex, vectorJson } from './vectors.ts'

/** The secrets that the reference's set-up drew for recorded parameters. */
export function recordedToxic(folder: '2KiB' | '32GiB', name: string): ToxicWaste {
  const { toxic } = vectorJson(`${folder}/params.json`)[name] as { toxic: Record<string, string> }
  const scalar = (key: string): bigint => frFromBytes(fromHex(toxic[key] as string))
  return {
    g1: fromHex(toxic.g1 as string),
    g2: fromHex(toxic.g2 as string),
    alpha: scalar('alpha'),
    beta: scalar('beta'),
    gamma: scalar('gamma'),
    delta: scalar('delta'),
    tau: scalar('tau'),
  }
}
