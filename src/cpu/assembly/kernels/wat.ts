/**
 * A small macro assembler for WebAssembly text: expressions are strings (`(i32.add ...)`), statements are collected in
 * order.
 *
 * The order of statements is kept to the machine code (V8's optimiser since 12 schedules little), so the kernels fix
 * here which independent chains are interleaved. No optimiser runs over the result.
 */
import { ARENA_BASE } from '../../thread-context.ts'

export type WasmType = 'i32' | 'i64' | 'f64' | 'v128'

/** First address of the constants; below lies the AssemblyScript module's data. */
const CONSTANTS_BASE = 0x1_0000

/** The body of one function under construction. */
export class FunctionBuilder {
  readonly #name: string
  readonly #parameters: readonly (readonly [name: string, type: WasmType])[]
  readonly #result: WasmType | undefined
  readonly #locals: string[] = []
  readonly #body: string[] = []
  #count = 0

  constructor(name: string, parameters: Readonly<Record<string, WasmType>>, result?: WasmType) {
    this.#name = name
    this.#parameters = Object.entries(parameters)
    this.#result = result
  }

  /** A new local, set to `value` if given. @returns its name, for {@link get} and {@link set} */
  local(type: WasmType, value?: string): string {
    const name = `v${this.#count++}`
    this.#locals.push(`(local $${name} ${type})`)
    if (value !== undefined) this.set(name, value)
    return name
  }

  set(local: string, value: string): void {
    this.do(`(local.set $${local} ${value})`)
  }

  do(statement: string): void {
    this.#body.push(statement)
  }

  /** `while (condition) body`, tested at the top. */
  while(condition: string, body: () => void): void {
    const label = `$l${this.#count++}`
    this.do(`(block ${label}_end (loop ${label} (br_if ${label}_end (i32.eqz ${condition}))`)
    body()
    this.do(`(br ${label})))`)
  }

  if(condition: string, body: () => void, otherwise?: () => void): void {
    this.do(`(if ${condition} (then`)
    body()
    this.do(')')
    if (otherwise !== undefined) {
      this.do('(else')
      otherwise()
      this.do(')')
    }
    this.do(')')
  }

  toString(): string {
    const parameters = this.#parameters.map(([name, type]) => `(param $${name} ${type})`).join(' ')
    const result = this.#result === undefined ? '' : `(result ${this.#result})`
    return `(func $${this.#name} (export "${this.#name}") ${parameters} ${result}\n${this.#locals.join(' ')}\n${this.#body.join('\n')})`
  }
}

export const get = (local: string): string => `(local.get $${local})`
export const i32 = (value: number): string => `(i32.const ${value})`
export const i64 = (value: bigint | number): string => `(i64.const ${value})`
/** `address + offset`, both expressions of type i32. */
export const add32 = (address: string, offset: string): string => `(i32.add ${address} ${offset})`
export const offset32 = (address: string, bytes: number): string => (bytes === 0 ? address : add32(address, i32(bytes)))

/** Functions and constants of one module. Every function is exported under its own name. */
export class ModuleBuilder {
  readonly #functions: string[] = []
  readonly #data = new Map<string, number>()
  #end = CONSTANTS_BASE

  /** Adds a function whose body `emit` writes. */
  func(
    name: string,
    parameters: Readonly<Record<string, WasmType>>,
    emit: (f: FunctionBuilder) => void,
    result?: WasmType,
  ): void {
    const builder = new FunctionBuilder(name, parameters, result)
    emit(builder)
    this.#functions.push(builder.toString())
  }

  /** Runs an emitter on a function that is dropped: for the bounds that it computes. */
  dry(emit: (f: FunctionBuilder) => void): void {
    emit(new FunctionBuilder('dry', {}))
  }

  /**
   * @returns the address, aligned to 16, of bytes that are there from instantiation on; equal bytes share one address.
   */
  data(bytes: Uint8Array): number {
    const text = Array.from(bytes, (byte) => `\\${byte.toString(16).padStart(2, '0')}`).join('')
    const known = this.#data.get(text)
    if (known !== undefined) return known
    const address = this.#end
    this.#data.set(text, address)
    this.#end = Math.ceil((address + bytes.length) / 16) * 16
    if (this.#end > ARENA_BASE) throw new Error('The constants of the kernels reach into the arena')
    return address
  }

  toString(): string {
    const data = [...this.#data].map(([text, address]) => `(data (i32.const ${address}) "${text}")`)
    return [
      '(module',
      `(import "env" "memory" (memory ${ARENA_BASE / 0x1_0000} 65536 shared))`,
      '(import "env" "scratch" (global $scratch i32))',
      ...this.#functions,
      ...data,
      ')',
    ].join('\n')
  }
}
