/**
 * The test suites, as `npm test`, `npm run test:proofs` and `npm run test:full` start them:
 *
 *     node test/run.js quick|proofs|full [--node PATH]
 *
 * Each step's time is printed, a failed step does not keep the later ones from running, and the last line is "N passed,
 * N failed": the tests that vitest counted, and one more for each other step (types, lint, layers, …). Flags that Node
 * needs for relaxed SIMD are given here and in vitest.config.ts, so no kernel test is ever skipped for want of one; the
 * variables of the software GPU are given here, since a Vulkan loader reads them when its process starts.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeFlags } from '../scripts/node-flags.js'
import { softwareGpuEnvironment } from './support/software-gpu.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const results = join(root, '.cache', 'test-results')

const bin = (script, ...args) => [process.execPath, join(root, 'node_modules', script), ...args]
const build = { name: 'build', command: [process.execPath, join(root, 'scripts/build.js')] }
const vitest = (...filters) => ({ name: 'tests', filters })

const SUITES = {
  quick: [
    build,
    { name: 'types', command: bin('typescript/bin/tsc', '--noEmit') },
    { name: 'lint', command: bin('@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.') },
    {
      name: 'layers',
      command: bin('dependency-cruiser/bin/dependency-cruise.mjs', 'src', '--config', '.dependency-cruiser.js'),
    },
    { name: 'unused', command: bin('knip/bin/knip.js') },
    { name: 'package', command: [process.execPath, join(root, 'scripts/check-package.js')] },
    vitest('unit', 'kernels', 'circuits', 'proofs', 'faults', 'engine', 'integrations', 'package'),
  ],
  proofs: [
    build,
    { name: 'node 24', command: [process.execPath, join(root, 'scripts/node24.js')] },
    vitest('proofs-slow', 'package-slow', 'examples'),
  ],
  full: [build, vitest('full')],
}

/** Runs vitest on folders of test/. @returns its counts, and whether they can be trusted */
function runTests(suite, folders) {
  const report = join(results, `${suite}.json`)
  rmSync(report, { force: true })
  // A filter matches anywhere in a path: with the last slash, `proofs` is not `proofs-slow`.
  const filters = folders.map((folder) => `test/${folder}/`)
  const { status } = spawnSync(
    process.execPath,
    [
      ...nodeFlags(),
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...filters,
    ],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...softwareGpuEnvironment() } },
  )
  let counts
  try {
    counts = JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }
  }
  const passed = counts.numPassedTests
  const skipped = counts.numPendingTests + counts.numTodoTests
  // A file that fails to load has no test of its own to count, and an unhandled error belongs to none.
  const unloaded = counts.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((t) => t.status === 'failed'),
  )
  let failed = counts.numFailedTests + unloaded.length
  if (failed === 0 && (status !== 0 || passed === 0)) failed = 1
  return { passed, failed, skipped }
}

const suite = process.argv[2] ?? ''
const steps = SUITES[suite]
if (steps === undefined) {
  console.error(`usage: node test/run.js ${Object.keys(SUITES).join('|')}`)
  process.exit(2)
}

mkdirSync(results, { recursive: true })
const total = { passed: 0, failed: 0, skipped: 0 }
const lines = []
for (const { name, command, filters } of steps) {
  console.log(`\n── ${name}`)
  const start = performance.now()
  let counts
  if (filters === undefined) {
    const { status } = spawnSync(command[0], command.slice(1), { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    counts = status === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 }
  } else {
    counts = runTests(suite, filters)
  }
  for (const key of Object.keys(total)) total[key] += counts[key]
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  lines.push(`${counts.failed === 0 ? '✓' : '✗'} ${name.padEnd(8)} ${seconds.padStart(6)} s`)
}
writeFileSync(join(results, `${suite}.summary.json`), JSON.stringify(total))

console.log(`\n${lines.join('\n')}\n`)
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`)
process.exitCode = total.failed === 0 ? 0 : 1
