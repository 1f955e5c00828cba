/**
 * Builds `dist/`: JavaScript and declarations by tsc, WebAssembly from its sources by `src/cpu/assembly/build.ts`.
 *
 *     node scripts/build.js           both
 *     node scripts/build.js --clean   after removing dist/ (what a package is packed from)
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs a development dependency's script, with its output on stderr, so that stdout stays the caller's own. */
function tool(script, args) {
  const { status, error } = spawnSync(process.execPath, [join(root, 'node_modules', script), ...args], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (error) throw error
  return status === 0
}

/**
 * Tells on stderr of each of its two steps, of some ten seconds on a busy machine.
 * @returns whether both succeeded. A type error does not keep the WebAssembly from being built
 */
export function build({ clean = false } = {}) {
  if (clean) rmSync(join(root, 'dist'), { recursive: true, force: true })
  console.error('building dist/: TypeScript …')
  const javascript = tool('typescript/bin/tsc', ['-p', 'tsconfig.build.json'])
  // npm makes a command executable when it first links it, and keeps that link: in this folder it would lead to a new
  // file that is not.
  const command = join(root, 'dist/cli/wgzk.js')
  if (existsSync(command)) chmodSync(command, 0o755)
  console.error('building dist/: WebAssembly …')
  const wasm = tool('tsx/dist/cli.mjs', ['src/cpu/assembly/build.ts'])
  return javascript && wasm
}

function newest(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))))
}

/** @returns whether `dist/` is complete and no source is younger than it. */
export function isBuilt() {
  const outputs = [
    'dist/index.js',
    'dist/wasm/circuit.wasm',
    'dist/wasm/kernels-fma.wasm',
    'dist/wasm/kernels-fma-fenced.wasm',
    'dist/wasm/kernels-int.wasm',
  ]
  const paths = outputs.map((path) => join(root, path))
  if (!paths.every(existsSync)) return false
  const built = Math.min(...paths.map((path) => statSync(path).mtimeMs))
  return Math.max(newest(join(root, 'src')), statSync(join(root, 'tsconfig.build.json')).mtimeMs) <= built
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = build({ clean: process.argv.includes('--clean') }) ? 0 : 1
}
