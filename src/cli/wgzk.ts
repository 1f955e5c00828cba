#!/usr/bin/env node
/**
 * The command of the package: `npx wgzk doctor [--json] [--parameters FOLDER]`.
 *
 * Exit codes: 0 done; 1 no device of this machine can prove; 2 the arguments make no sense.
 */
import { parseArgs } from 'node:util'
import { examine } from './doctor.ts'
import { reportText } from './doctor-text.ts'

const USAGE = `usage: wgzk doctor [--json] [--parameters FOLDER]

Tells what this machine can prove: its GPUs, processor and memory, the parameters found, and each circuit's device.

  --json               as one JSON object
  --parameters FOLDER  where the parameter files are (default: FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters)`

const OPTIONS = {
  json: { type: 'boolean', default: false },
  parameters: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

function parse(): { values: { json: boolean; parameters?: string | undefined; help: boolean }; positionals: string[] } {
  try {
    return parseArgs({ allowPositionals: true, options: OPTIONS })
  } catch (error) {
    console.error((error as Error).message)
    return { values: { json: false, help: false }, positionals: [] }
  }
}

const { values, positionals } = parse()
if (values.help) console.log(USAGE)
else if (positionals.join(' ') !== 'doctor') {
  console.error(USAGE)
  process.exitCode = 2
} else {
  const report = await examine({ parameterCache: values.parameters })
  console.log(values.json ? JSON.stringify(report, null, 2) : reportText(report))
  process.exitCode = report.canProve ? 0 : 1
}
