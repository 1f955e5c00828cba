/** A set-up whose scalars were computed elsewhere: the device multiplies. */
import { FR_BYTES, frToBytes } from '../field/fr.ts'
import type { ProvingDevice, Run } from '../groth16/proving-device.ts'
import { G1_BYTES, G2_BYTES, type PointRange, QUERY_GROUP, type Query } from '../params/layout.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'
import { joinVerifyingKey } from '../params/verifying-key.ts'
import type { SetupPoints } from './write-parameters.ts'

/** Scalars of every query, 32 bytes little-endian each. */
export interface SetupScalars {
  readonly ic: Uint8Array
  /** Those of the points `first` up to `first + count`. */
  query(query: Query, first: number, count: number): Uint8Array
}

/** @throws `run.signal.reason` once the signal aborts */
export async function setupFromScalars(
  device: ProvingDevice,
  toxic: ToxicWaste,
  scalars: SetupScalars,
  run: Run,
): Promise<SetupPoints> {
  const multiples = async (group: 'g1' | 'g2', of: Uint8Array, to: Run): Promise<Uint8Array> => {
    const out = new Uint8Array((of.length / FR_BYTES) * (group === 'g1' ? G1_BYTES : G2_BYTES))
    await device.fixedBaseMultiples(group, toxic[group], of, out, to)
    return out
  }
  const quiet: Run = { signal: run.signal, unit: () => {} }
  let last: Promise<unknown> = Promise.resolve()
  return {
    verifyingKey: await makeVerifyingKey(toxic, scalars.ic, (group, of) => multiples(group, of, quiet)),
    async encode({ query, first, count }: PointRange, take, to) {
      const encoded = last.then(() => multiples(QUERY_GROUP[query], scalars.query(query, first, count), to))
      last = encoded.catch(() => {})
      await take(0, await encoded)
    },
  }
}

async function makeVerifyingKey(
  { alpha, beta, gamma, delta }: ToxicWaste,
  ic: Uint8Array,
  multiples: (group: 'g1' | 'g2', scalars: Uint8Array) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const joined = (...values: bigint[]): Uint8Array => Buffer.concat(values.map(frToBytes))
  const g1 = await multiples('g1', Buffer.concat([joined(alpha, beta, delta), ic]))
  return joinVerifyingKey(g1, await multiples('g2', joined(beta, gamma, delta)))
}
