#!/usr/bin/env node
/**
 * The command of the package: `npx wgzk doctor` and `npx wgzk bench`.
 *
 * Exit codes: 0 done; 1 no device of this machine can prove, or what was asked for is not there; 2 the arguments make
 * no sense.
 */
import { parseArgs } from 'node:util'
import { isCircuitId } from '../circuit/circuit-id.ts'
import { ProverError } from '../errors.ts'
import { packageVersion } from '../version.ts'

const SYNOPSIS = `usage: wgzk doctor [--calibrate] [--json] [--parameters FOLDER]
       wgzk bench [--device NAME] [--log2 N] [--circuit ID]… [--rounds N]
                  [--relaxed-simd auto|enable|never] [--json] [--parameters FOLDER]
       wgzk --version`

const USAGE = `${SYNOPSIS}

doctor tells what this machine can prove: its GPUs, processor and memory, how fast they are,
the parameters found, and each circuit's device. bench measures one device.

  --json               one JSON object
  --calibrate          also find out what the GPUs are best tuned to, and remember it
  --parameters FOLDER  where the parameter files are
                       (default: FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters)
  --device NAME        cpu, or a part of an adapter's name (default: the first hardware GPU, else cpu)
  --log2 N             the evaluation domain to measure, 2^N (10 to 24; default: by the device's speed)
  --circuit ID         also prove one partition of this circuit, e.g. winning-32g
  --rounds N           proofs of it after the first (default: 3)
  --relaxed-simd       of the CPU device, as the option cpu.relaxedSimd (default: auto)`

const OPTIONS = {
  json: { type: 'boolean', default: false },
  calibrate: { type: 'boolean', default: false },
  parameters: { type: 'string' },
  device: { type: 'string' },
  log2: { type: 'string' },
  circuit: { type: 'string', multiple: true, default: [] as string[] },
  rounds: { type: 'string', default: '3' },
  'relaxed-simd': { type: 'string', default: 'auto' },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', default: false },
} as const

/** Those of `bench`; the others are `doctor`'s too. */
const OF_BENCH: readonly string[] = ['device', 'log2', 'circuit', 'rounds', 'relaxed-simd']
const OF_DOCTOR: readonly string[] = ['calibrate']

class UsageError extends Error {}

type Values = ReturnType<typeof parse>['values']

function parse() {
  try {
    return parseArgs({ allowPositionals: true, options: OPTIONS, tokens: true })
  } catch (error) {
    // The first sentence: the next ones are of arguments that begin with a hyphen.
    throw new UsageError((error as Error).message.replace(/\. .*/s, ''))
  }
}

/** An option that a command does not take would be taken for one that it obeys. */
function refuseOthers(command: string, { tokens }: ReturnType<typeof parse>): void {
  const foreign = command === 'doctor' ? OF_BENCH : OF_DOCTOR
  const given = tokens.find((token) => token.kind === 'option' && foreign.includes(token.name))
  if (given?.kind === 'option') throw new UsageError(`${command} does not take --${given.name}`)
}

/** What a shell makes of a variable that is not set would be taken for no matter which. */
function refuseEmpty(values: Values): void {
  for (const name of ['parameters', 'device'] as const) {
    if (values[name] === '') throw new UsageError(`expected --${name} to be a name, got an empty one`)
  }
}

function integer(text: string, name: string, least: number, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new UsageError(`expected --${name} to be an integer from ${least} to ${most}, got ${text}`)
}

async function doctor({ parameters, json, calibrate }: Values): Promise<void> {
  const { examine } = await import('./doctor.ts')
  const { reportText } = await import('./doctor-text.ts')
  const report = await examine({ parameterCache: parameters, calibrate })
  console.log(json ? JSON.stringify(report, null, 2) : reportText(report))
  process.exitCode = report.canProve ? 0 : 1
}

async function measure(values: Values): Promise<void> {
  const circuits = values.circuit.map((id) => {
    if (isCircuitId(id)) return id
    throw new UsageError(`expected --circuit to be a circuit such as winning-32g, got ${id}`)
  })
  const relaxedSimd = values['relaxed-simd']
  if (relaxedSimd !== 'auto' && relaxedSimd !== 'enable' && relaxedSimd !== 'never') {
    throw new UsageError(`expected --relaxed-simd to be auto, enable or never, got ${relaxedSimd}`)
  }
  const { bench } = await import('./bench.ts')
  const { benchText } = await import('./bench-text.ts')
  const report = await bench({
    device: values.device,
    log2Domain: values.log2 === undefined ? undefined : integer(values.log2, 'log2', 10, 24),
    circuits,
    rounds: integer(values.rounds, 'rounds', 0, 1000),
    parameterCache: values.parameters,
    relaxedSimd,
  })
  console.log(values.json ? JSON.stringify(report, null, 2) : benchText(report))
}

const COMMANDS: Readonly<Record<string, (values: Values) => Promise<void>>> = { doctor, bench: measure }

try {
  const parsed = parse()
  const { values, positionals } = parsed
  const [name = '', ...others] = positionals
  const command = Object.hasOwn(COMMANDS, name) && others.length === 0 ? COMMANDS[name] : undefined
  if (values.help) console.log(USAGE)
  else if (values.version) console.log(packageVersion())
  else if (command === undefined) {
    throw new UsageError(name === '' ? 'a command is missing' : `no command ${positionals.join(' ')}`)
  } else {
    refuseOthers(name, parsed)
    refuseEmpty(values)
    await command(values)
  }
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n${SYNOPSIS}\n(wgzk --help says what each does)`)
    process.exitCode = 2
  } else if (ProverError.is(error)) {
    console.error(error.message)
    process.exitCode = 1
  } else throw error
}
