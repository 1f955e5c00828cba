/** Built files are found from `src/` (tests of single modules) and from `dist/` alike: both lie beside `dist/`. */

/** A WebAssembly module made by the build, e.g. `circuit`, `kernels-fma`. */
export function wasmFile(name: string): URL {
  return new URL(`../../dist/wasm/${name}.wasm`, import.meta.url)
}

/**
 * A worker's entry, relative to `dist/`, e.g. `cpu/compute-thread.js`. Node 20 can't start a worker from a `.ts` file.
 */
export function workerFile(path: string): URL {
  return new URL(`../../dist/${path}`, import.meta.url)
}
