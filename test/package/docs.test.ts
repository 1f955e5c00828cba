/** What the documents promise exists: links, commands, files, and a line for every error code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type CircuitSize, circuitSize } from '../../src/budget/circuit-sizes.ts'
import { estimateCircuit, partitionBytes } from '../../src/budget/estimates.ts'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { paramsLayout, QUERIES } from '../../src/params/layout.ts'
import { partitionBytes as phaseBytes } from '../../src/webgpu/assignment/assignment-bytes.ts'
import { leastGpuBytes, planGpu } from '../../src/webgpu/working-set.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

describe.each(documents)('%s', (document) => {
  const text = read(document)

  it('links to files that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map((match) => match[1] ?? '')
    expect(links.filter((link) => !existsSync(join(root, dirname(document), link)))).toEqual([])
  })

  it('names scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = [...text.matchAll(/npm run (?:-s )?([a-z:]+)/g)].map((match) => match[1] ?? '')
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
  })

  it('names sources that exist', () => {
    const named = [...text.matchAll(/`((?:src|test|examples|scripts|docs)\/[\w./-]+)`/g)].map((match) => match[1] ?? '')
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})

it('docs/errors.md has a line for every code, with its class and whether to retry', () => {
  const source = read('src/errors.ts')
  const table = read('docs/errors.md')
  const codes = [...source.matchAll(/super\('(ERR_\w+)', (true|false)/g)]
  expect(codes.length).toBeGreaterThan(10)
  for (const [, code, retryable] of codes) {
    const name = source.match(new RegExp(`class (\\w+) extends ProverError<'${code}'>`))?.[1]
    expect(table).toContain(`| \`${code}\` | \`${name}\` | ${retryable === 'true' ? 'yes' : 'no'} |`)
  }
})

describe('docs/memory.md has the numbers that are counted', () => {
  const GIB = 2 ** 30
  const sizeOf = (circuitId: string): CircuitSize => circuitSize(circuitId as CircuitId) as CircuitSize
  /** Circuit and cells of the rows of the table with this heading. */
  const rowsOf = (heading: string): [circuit: string, cells: string[]][] => {
    const table = read('docs/memory.md').split(`${heading} |\n`)[1]?.split('\n\n')[0] ?? ''
    const rows = [...table.matchAll(/^\| `([a-z0-9-]+)` \| (.*) \|$/gm)]
    return rows.map(([, circuit = '', cells = '']) => [circuit, cells.split(' | ')])
  }

  it('for the CPU device, in MiB', () => {
    const rows = rowsOf('a circuit (points kept)')
    for (const [circuit, cells] of rows) {
      const size = sizeOf(circuit)
      const estimate = estimateCircuit(size, { totalBytes: 64 * GIB, threads: 8 })
      const mib = [partitionBytes(estimate), estimate.residentBytes].map((bytes) => Math.round(bytes / 2 ** 20))
      const resident = estimate.keepPoints ? `${mib[1]}` : `${mib[1]} (streamed)`
      expect([circuit, ...cells]).toEqual([circuit, `2^${size.log2Domain}`, `${mib[0]}`, resident])
    }
    expect(rows.length).toBe(5)
  })

  it('for GPUs, in GiB', () => {
    const bindingBytes = 2 ** 31 - 4
    const rows = rowsOf('least in all')
    for (const [circuit, cells] of rows) {
      const size = sizeOf(circuit)
      const { assign, quotient, sums } = phaseBytes(size, bindingBytes)
      const { shapeBytes } = planGpu(size, { memoryBytes: 139 * GIB, bindingBytes })
      const { queries } = paramsLayout(size)
      const points = QUERIES.reduce((sum, query) => sum + queries[query].points * queries[query].pointBytes, 0)
      const least = leastGpuBytes(size, bindingBytes)
      const counted = [shapeBytes, Math.max(assign, quotient), sums, points, least]
      // Each as it is rounded there.
      const rounded = counted.map((bytes, i) => (bytes / GIB).toFixed(cells[i]?.split('.')[1]?.length ?? 0))
      expect([circuit, ...cells]).toEqual([circuit, ...rounded])
    }
    expect(rows.length).toBe(4)
  })
})

it('README shows the example that runs', () => {
  const example = read('examples/prove-window-post.ts')
  // All but the comment at its top.
  const code = example.replace(/^(\/\*\*[\s\S]*?\*\/\n)/, '').trim()
  expect(read('README.md')).toContain(`\`\`\`ts\n${code}\n\`\`\``)
})
