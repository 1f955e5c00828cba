/** The version of this package: what is kept for it is of no use to another. */
import { readFileSync } from 'node:fs'

/**
 * As package.json says it, which lies above `src/` and above `dist/`.
 * @throws the system's error if it can't be read
 */
export function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
