/** Proofs through the built package, as its examples make them. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Runs an example with the built package in a process of its own, which must end by itself.
 * @param parameters folder with the circuit's development parameters: the example makes none
 * @returns the proof that it printed
 */
export async function proofOfExample(example: string, parameters: string): Promise<Uint8Array> {
  const child = spawn(process.execPath, ['scripts/run.js', `examples/${example}`], {
    cwd: root,
    env: { ...process.env, EXAMPLE_PARAMETERS: parameters },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  const [, hex] = output.match(/^192 bytes in \d+ ms: ([0-9a-f]{384})$/m) ?? []
  if (code !== 0 || hex === undefined) throw new Error(`${example} ended with ${code}: ${output}${errors}`)
  return new Uint8Array(Buffer.from(hex, 'hex'))
}
