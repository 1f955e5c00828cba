/**
 * Runs a TypeScript file of this repository (an example, a bench, a tool) against `dist/`, building that first where it
 * is missing or older than a source:
 *
 *     node scripts/run.js FILE [ARGUMENTS…]
 *
 * tsx gets a configuration without the `wgzk` path mapping, so `import 'wgzk'` means the built package, as it does for
 * a user.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { build, isBuilt, root } from './build.js'
import { nodeFlags } from './node-flags.js'

const [file, ...args] = process.argv.slice(2)
if (file === undefined) {
  console.error('usage: node scripts/run.js FILE [ARGUMENTS…]')
  process.exit(2)
}
if (!isBuilt() && !build()) {
  console.error('The build failed; see above.')
  process.exit(1)
}

const child = spawn(process.execPath, [...nodeFlags(), '--import', 'tsx', join(root, file), ...args], {
  stdio: 'inherit',
  env: { ...process.env, TSX_TSCONFIG_PATH: join(root, 'tsconfig.run.json') },
})
// The terminal sends Ctrl-C to both; the child decides when it is done. A signal sent to this process alone is handed
// on.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('error', (error) => {
  console.error(error)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
