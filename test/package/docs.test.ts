/** What the documents promise exists: links, commands, files, and a line for every error code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

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

it('README shows the example that runs', () => {
  const example = read('examples/prove-window-post.ts')
  // All but the comment at its top.
  const code = example.replace(/^(\/\*\*[\s\S]*?\*\/\n)/, '').trim()
  expect(read('README.md')).toContain(`\`\`\`ts\n${code}\n\`\`\``)
})
