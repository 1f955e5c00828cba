import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, root), 'utf8'))

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly optional?: boolean }>>
}

/** Licences that may be linked into a program under `Apache-2.0 OR MIT` without a condition beyond attribution. */
const PERMISSIVE = new Set(['MIT', 'Apache-2.0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0'])

describe('licences of what ships', () => {
  const { packages } = readJson('package-lock.json') as LockFile
  const shipped = Object.keys(packages).filter((path) => path !== '' && packages[path]?.dev !== true)

  it('looks at every run-time dependency', () => {
    const { dependencies } = readJson('package.json') as { dependencies: Record<string, string> }
    const direct = Object.keys(dependencies).map((name) => `node_modules/${name}`)
    expect(direct.length).toBeGreaterThan(0)
    expect(shipped).toEqual(expect.arrayContaining(direct))
  })

  it.each(shipped)('%s is permissive', (path) => {
    const { license } = readJson(`${path}/package.json`) as { license?: string }
    // An SPDX choice (A OR B) is fine if one side is.
    const choices = (license ?? 'none').replaceAll(/[()]/g, '').split(' OR ')
    expect(choices.some((choice) => PERMISSIVE.has(choice))).toBe(true)
  })

  it('has the full text of both of its own', () => {
    const text = (name: string): string => readFileSync(new URL(name, root), 'utf8')
    expect(text('LICENSE-APACHE')).toContain('TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION')
    expect(text('LICENSE-MIT')).toContain('Permission is hereby granted, free of charge')
    expect((readJson('package.json') as { license: string }).license).toBe('Apache-2.0 OR MIT')
  })
})
