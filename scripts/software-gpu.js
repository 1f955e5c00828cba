/** Runs a command with the variables of the software GPU set: `node scripts/software-gpu.js COMMAND [ARGUMENTS…]` */
import { spawnSync } from 'node:child_process'
import { softwareGpuEnvironment } from '../test/support/software-gpu.js'

const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  console.error('usage: node scripts/software-gpu.js COMMAND [ARGUMENTS…]')
  process.exit(2)
}
const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...softwareGpuEnvironment() } })
process.exitCode = status ?? 1
