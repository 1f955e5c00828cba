/**
 * Build step: generates the kernels' text for each back end and assembles it with wabt; no optimiser changes the order
 * of instructions.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import wabtFactory from 'wabt'
import { fmaFields, integerFields, kernelModule } from './kernels/modules.ts'

/** File name (without `.wasm`) and text of every kernel module. */
const MODULES: Readonly<Record<string, () => string>> = {
  'kernels-fma': () => kernelModule((module) => fmaFields(module, { fenced: false })),
  'kernels-fma-fenced': () => kernelModule((module) => fmaFields(module, { fenced: true })),
  'kernels-int': () => kernelModule(integerFields),
}

/**
 * Writes the kernel modules into a folder.
 * @throws Error with wabt's message if a generated text is not a module
 */
export async function buildKernelModules(outputFolder: URL): Promise<void> {
  await mkdir(outputFolder, { recursive: true })
  for (const [name, text] of Object.entries(MODULES)) {
    await writeFile(new URL(`${name}.wasm`, outputFolder), await assemble(name, text()))
  }
}

async function assemble(name: string, text: string): Promise<Uint8Array> {
  const wabt = await wabtFactory()
  const features = { simd: true, threads: true, relaxed_simd: true, mutable_globals: true, bulk_memory: true }
  const module = wabt.parseWat(`${name}.wat`, text, { ...features, sat_float_to_int: true })
  try {
    return module.toBinary({}).buffer
  } finally {
    module.destroy()
  }
}
