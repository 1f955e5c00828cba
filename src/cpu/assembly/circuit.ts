/** Build step: compiles the AssemblyScript sources of the constraint-system walker to one WebAssembly module. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { blake2sCompressSource } from './blake2s-compress.ts'

/** What this step uses of the compiler. */
interface Compiler {
  main(
    argv: string[],
    options: {
      readFile(name: string, baseDir: string): Promise<string | null>
      writeFile(name: string, contents: string | Uint8Array): void
    },
  ): Promise<{ readonly error: Error | null; readonly stderr: { toString(): string } }>
}

/** Sources that are written and not read, by their names in the folder. */
const GENERATED: Readonly<Record<string, () => string>> = { 'blake2s-compress.ts': blake2sCompressSource }

/** A source for the compiler, or nothing where it looks for one that is elsewhere. */
async function sourceOf(name: string, baseDir: string): Promise<string | null> {
  const generated = GENERATED[name]
  if (generated !== undefined) return generated()
  return await readFile(join(baseDir, name), 'utf8').catch(() => null)
}

/**
 * Writes `circuit.wasm` into a folder.
 * @throws Error with the compiler's messages if the sources don't compile.
 */
export async function buildCircuitModule(outputFolder: URL): Promise<void> {
  const entry = fileURLToPath(new URL('./circuit/index.ts', import.meta.url))
  const target = new URL('circuit.wasm', outputFolder)
  // Not a plain import: the package's types would declare globals of AssemblyScript, `console` among them, for the
  // whole program.
  const { default: asc } = (await import(import.meta.resolve('assemblyscript/asc'))) as { default: Compiler }
  const outputs = new Map<string, string | Uint8Array>()
  const { error, stderr } = await asc.main(
    [
      'index.ts',
      '--outFile',
      'circuit.wasm',
      '-O3',
      // No garbage collector, no start function, no data: any number of threads may instantiate the module on one
      // memory.
      ...['--runtime', 'stub', '--noAssert', '--use', 'abort='],
      ...['--importMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65536'],
      ...['--enable', 'simd,threads,bulk-memory', '--noColors'],
      ...['--baseDir', dirname(entry)],
    ],
    { readFile: sourceOf, writeFile: (name, contents) => void outputs.set(name, contents) },
  )
  const binary = outputs.get('circuit.wasm')
  if (error !== null || binary === undefined) throw new Error(`AssemblyScript: ${error?.message}\n${stderr.toString()}`)
  await mkdir(outputFolder, { recursive: true })
  await writeFile(target, binary)
}
