/** Makes every WebAssembly module from the sources in this folder. Run it with `tsx`; it writes into `dist/wasm/`. */
import { buildCircuitModule } from './circuit.ts'
import { buildKernelModules } from './kernels.ts'

const outputFolder = new URL('../../../dist/wasm/', import.meta.url)

await buildCircuitModule(outputFolder)
await buildKernelModules(outputFolder)
