/**
 * Buffers that a thread keeps from unit to unit: fresh ones would have to be cleared and collected, a tenth of a unit's
 * time.
 */
import type { ThreadContext } from '../thread-context.ts'

const kept = new WeakMap<ThreadContext, Map<string, Uint32Array>>()

/**
 * @param name of the buffer; whoever asks for it next gets the same memory
 * @returns `length` words with unspecified content
 */
export function reusableWords(context: ThreadContext, name: string, length: number): Uint32Array {
  let buffers = kept.get(context)
  if (buffers === undefined) {
    buffers = new Map()
    kept.set(context, buffers)
  }
  let buffer = buffers.get(name)
  if (buffer === undefined || buffer.length < length) {
    // A quarter more, so that slightly different lengths settle soon.
    buffer = new Uint32Array(Math.ceil(length * 1.25))
    buffers.set(name, buffer)
  }
  return buffer.subarray(0, length)
}
