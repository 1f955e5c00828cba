import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What an embedder may import by name; types are checked in types.test.ts. A seam for tests would show up here. */
const PUBLIC_VALUES = [
  'BudgetExceededError',
  'DeadlineExceededError',
  'DevelopmentParametersError',
  'Engine',
  'EngineClosedError',
  'GpuDeviceLostError',
  'GpuOutOfMemoryError',
  'GpuUnavailableError',
  'GpuValidationError',
  'InvalidOptionsError',
  'InvalidRequestError',
  'ProofInvalidError',
  'ProverError',
  'QueueFullError',
  'RequestConflictError',
  'SrsUnavailableError',
  'SynthesisError',
  'UnsupportedProofError',
  'WorkerExitedError',
  'developmentSetup',
  'registeredSealProof',
  'registeredUpdateProof',
  'registeredWindowPostProof',
  'registeredWinningPostProof',
  'requiredFiles',
  'statementOf',
  'toCuzkStatus',
  'verifyProof',
]

describe('the packed package', () => {
  let files: string[] = []
  let unpackedBytes = 0

  beforeAll(() => {
    // Without scripts: `prepack` would build once more, and the launcher has built.
    const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [pack] = JSON.parse(output) as [{ files: { path: string }[]; unpackedSize: number }]
    files = pack.files.map(({ path }) => path)
    unpackedBytes = pack.unpackedSize
  })

  it('holds code, declarations, WebAssembly, WGSL, licences, the README and the documents that it names', () => {
    const needed = [
      'package.json',
      'README.md',
      'LICENSE',
      'LICENSE-APACHE',
      'LICENSE-MIT',
      'docs/errors.md',
      'docs/operations.md',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/cli/wgzk.js',
      'dist/device/device-worker.js',
      'dist/srs/look-process.js',
      'dist/webgpu/list-adapters-process.js',
      'wgsl/ntt/round.wgsl',
      'dist/wasm/circuit.wasm',
      'dist/wasm/kernels-fma.wasm',
      'dist/wasm/kernels-fma-fenced.wasm',
      'dist/wasm/kernels-int.wasm',
    ]
    expect(files).toEqual(expect.arrayContaining(needed))
  })

  it('holds nothing else', () => {
    const allowed =
      /^(dist\/.*\.(js|js\.map|d\.ts|wasm)|wgsl\/.*\.wgsl|wgsl\/README\.md|docs\/[a-z]+\.md|examples\/(support\/)?[a-z-]+\.ts|package\.json|README\.md|LICENSE(-APACHE|-MIT)?)$/
    expect(files.filter((path) => !allowed.test(path))).toEqual([])
    const ours = files.filter((path) => !path.startsWith('examples/'))
    expect(ours.filter((path) => /(^|\/)(test|tests|support|vectors|bench|assembly)\//.test(path))).toEqual([])
    expect(files.filter((path) => /\.test\./.test(path))).toEqual([])
  })

  it('holds what its documents link to', () => {
    const documents = files.filter((path) => path.endsWith('.md'))
    expect(documents.length).toBeGreaterThan(10)
    const dead = documents.flatMap((document) =>
      [...readFileSync(join(root, document), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)]
        .map(([, link = '']) => join(dirname(document), link))
        .filter((path) => !files.includes(path))
        .map((path) => `${document}: ${path}`),
    )
    expect(dead).toEqual([])
  })

  it('is small enough to install without thinking', () => {
    // Half of it are source maps that hold the sources.
    expect(unpackedBytes).toBeLessThan(6 * 2 ** 20)
  })
})

/** Runs a module beside this package, as a user's would run. @returns what it printed */
function evaluate(script: string): string {
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8' }).trim()
}

describe('the entry point', () => {
  it('exports the public names and no others', () => {
    const names: unknown = JSON.parse(evaluate("console.log(JSON.stringify(Object.keys(await import('wgzk'))))"))
    expect(names).toEqual(PUBLIC_VALUES)
  })

  it.each(['wgzk/dist/engine.js', 'wgzk/dist/index.js', 'wgzk/src/index.ts'])('is the only way in, not %s', (path) => {
    expect(evaluate(`await import('${path}').catch(({ code }) => console.log(code))`)).toBe(
      'ERR_PACKAGE_PATH_NOT_EXPORTED',
    )
  })

  it('lets tools read package.json', () => {
    expect(evaluate("console.log(import.meta.resolve('wgzk/package.json').endsWith('/package.json'))")).toBe('true')
  })
})
