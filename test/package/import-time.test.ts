import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Milliseconds of CPU time that `import 'wgzk'` takes in a fresh process: the elapsed time of a machine with nothing
 * else to do.
 */
function importMs(): number {
  const script = "const t = process.cpuUsage(); await import('wgzk'); console.log(JSON.stringify(process.cpuUsage(t)))"
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8' })
  const { user, system } = JSON.parse(output) as NodeJS.CpuUsage
  return (user + system) / 1000
}

it('is imported in at most 100 ms', () => {
  // The least of several: other work on the machine can only make a run slower.
  expect(Math.min(...Array.from({ length: 9 }, importMs))).toBeLessThan(100)
})

it('starts nothing by being imported', () => {
  const script = `
    const before = process.getActiveResourcesInfo()
    await import('wgzk')
    // Files of the modules themselves may still be closing.
    await new Promise((resolve) => setTimeout(resolve, 100))
    console.log(JSON.stringify([before, process.getActiveResourcesInfo()]))`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8' })
  const [before, after] = JSON.parse(output) as [string[], string[]]
  expect(after.sort()).toEqual(before.sort())
})
