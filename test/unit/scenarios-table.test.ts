/** The table of scenarios and cases: complete, and every test that it names is there. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const FOLDERS: Readonly<Record<string, string>> = {
  E: 'test/engine',
  F: 'test/faults',
  U: 'test/unit',
  P: 'test/proofs',
  S: 'test/proofs-slow',
  K: 'test/kernels',
}

const root = new URL('../../', import.meta.url)
const text = readFileSync(new URL('test/scenarios.md', root), 'utf8')

/** Cells of the rows of a section's table. */
function rows(section: string): string[][] {
  const part = text.split(/^## /m).find((candidate) => candidate.startsWith(section)) as string
  const lines = part.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  )
}

/** Each file that a cell names, with the quoted parts of tests' names after it. */
function references(cell: string): { name: string; quotes: string[] }[] {
  return cell
    .split('`')
    .flatMap((piece, k, pieces) => (k % 2 === 1 && /^([A-Z]|test)\//.test(piece) ? [[piece, pieces[k + 1] ?? '']] : []))
    .map(([name, after]) => ({
      name: name as string,
      quotes: [...(after as string).matchAll(/"([^"]+)"/g)].map(([, quote]) => quote as string),
    }))
}

function fileOf(name: string): string {
  const [folder, ...rest] = name.split('/')
  const path = [FOLDERS[folder as string] ?? folder, ...rest].join('/')
  return fileURLToPath(new URL(`${path}.test.ts`, root))
}

describe.each(['Scenarios', 'Cases'])('%s', (section) => {
  test('are all there, once, each with a test or a reason', () => {
    const numbers = rows(section).flatMap(([number]) => (number as string).split(', ').map(Number))
    expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 45 }, (_, k) => k + 1))
    for (const [number, what, where] of rows(section)) {
      const named = references(where as string).length
      expect([number, what === '—' ? named === 0 && (where as string).length > 20 : named > 0]).toEqual([number, true])
    }
  })

  test('name tests that exist', () => {
    for (const { name, quotes } of rows(section).flatMap(([, , where]) => references(where as string))) {
      const file = fileOf(name)
      expect([name, existsSync(file)]).toEqual([name, true])
      const source = readFileSync(file, 'utf8')
      for (const quote of quotes) expect([name, quote, source.includes(quote)]).toEqual([name, quote, true])
    }
  })
})

test('what runs on real proofs names files that exist', () => {
  const named = rows('On real proofs').flatMap(([, where]) => references(where as string))
  expect(named.length).toBeGreaterThan(5)
  for (const { name } of named) expect([name, existsSync(fileOf(name))]).toEqual([name, true])
})
