/**
 * The part of the WebAssembly JavaScript interface that this package uses. TypeScript declares it in lib "DOM" only,
 * which a Node package must not ask of its users; no public type mentions it.
 */
declare namespace WebAssembly {
  interface MemoryDescriptor {
    initial: number
    maximum?: number
    shared?: boolean
  }
  class Memory {
    constructor(descriptor: MemoryDescriptor)
    readonly buffer: ArrayBuffer | SharedArrayBuffer
    /** @returns the size before, in pages of 64 KiB */
    grow(pages: number): number
  }
  class Global {
    constructor(descriptor: { value: 'i32' | 'i64' | 'f64'; mutable?: boolean }, value?: number | bigint)
    value: number | bigint
  }
  type ImportValue = Memory | Global | ((...args: number[]) => unknown) | number
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, Record<string, ImportValue>>)
    readonly exports: Record<string, (...args: number[]) => number>
  }
  class CompileError extends Error {}
  class RuntimeError extends Error {}
  function compile(bytes: Uint8Array): Promise<Module>
  function validate(bytes: Uint8Array): boolean
}
