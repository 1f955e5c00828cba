/**
 * Prints everything that identifies a circuit, as one JSON object with the fields of the reference's `peer shape`:
 *
 *     npm run -s circuit -- wpost-32g [--every 8388608]
 *
 * Exit codes: 0 printed; 2 the arguments make no sense.
 */
import { parseArgs } from 'node:util'
import {
  type CircuitFamily,
  type CircuitId,
  parseCircuitId,
  SECTOR_SIZE_NAMES,
  SECTOR_SIZE_TAGS,
} from '../circuit/circuit-id.ts'
import { circuitShape } from '../circuit/circuit-shape.ts'
import { circuitDigest } from '../circuit/digest.ts'
import { CircuitMachine } from '../cpu/circuit-machine.ts'

const USAGE = 'usage: npm run -s circuit -- CIRCUIT_ID [--every CONSTRAINTS]'

/** The reference's names of families. */
const KINDS: Readonly<Record<CircuitFamily, string>> = {
  porep: 'porep',
  snap: 'update',
  wpost: 'window',
  winning: 'winning',
}

class UsageError extends Error {}

function parse(args: string[]): { circuitId: CircuitId; every: number | undefined } {
  let parsed: { values: { every?: string | undefined }; positionals: string[] }
  try {
    parsed = parseArgs({ args, allowPositionals: true, options: { every: { type: 'string' } } })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  const [circuitId, ...extra] = parsed.positionals
  if (circuitId === undefined || extra.length > 0) throw new UsageError('expected one circuit id')
  const { family, size } = parseCircuitId(circuitId as CircuitId)
  if (!Object.hasOwn(KINDS, family) || !Object.hasOwn(SECTOR_SIZE_NAMES, size) || circuitId !== `${family}-${size}`) {
    const families = Object.keys(KINDS).join(', ')
    throw new UsageError(
      `no circuit ${circuitId}: expected one of ${families}, then - and ${SECTOR_SIZE_TAGS.join(', ')}`,
    )
  }
  const { every } = parsed.values
  if (every !== undefined && !/^[1-9]\d{0,9}$/.test(every)) {
    throw new UsageError(`expected --every to be a positive integer, got ${every}`)
  }
  return { circuitId: circuitId as CircuitId, every: every === undefined ? undefined : Number(every) }
}

try {
  const { circuitId, every } = parse(process.argv.slice(2))
  const { family, size } = parseCircuitId(circuitId)
  const digest = await circuitDigest(circuitShape(circuitId), new CircuitMachine(), { every })
  console.log(JSON.stringify({ kind: KINDS[family], size: SECTOR_SIZE_NAMES[size], ...digest }, null, 2))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`${error.message}\n${USAGE}`)
  process.exitCode = 2
}
