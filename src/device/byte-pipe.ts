/**
 * Byte arrays on their way to a child process, through a pipe beside the channel of its messages. A message is copied
 * whole several times on both sides, into pieces that are garbage afterwards: of a witness of 54 MB a hundred
 * megabytes. Here it crosses in parts, out of one buffer and through another; the next part leaves when the system has
 * taken the one before.
 *
 *     of each part: id u32 · bytes of the array u32 · bytes of the part u32, or DROPPED · the bytes
 *
 * Arrays may be sent side by side; the parts of each come in order.
 */
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** An abort gets through between two parts. */
const PART_BYTES = 2 ** 20
const HEADER_BYTES = 12

/** Instead of a part: what came of the array will not be used. */
const DROPPED = 2 ** 32 - 1

/** The pipe's end in the child, after its standard streams and the channel. */
export const PIPE_FD = 4

/** What the child reads at once; a pipe holds no more. */
const READ_BYTES = 2 ** 18

/** Stands for a byte array in the arguments of a call. */
interface Piped {
  readonly pipedId: number
}

/** Arguments as a message carries them, and what goes through the pipe instead. */
export interface PipedArgs {
  readonly args: unknown
  /** Of the byte arrays in the arguments. */
  readonly piped: readonly number[]
}

/** The end that sends. */
export class BytePipe {
  readonly #pipe: Writable | undefined
  #sent = 0

  /** @param pipe absent if the process could not even be started */
  constructor(pipe: Writable | undefined) {
    this.#pipe = pipe
    // Whoever sends is told; the end of the process says why.
    pipe?.on('error', () => {})
  }

  /**
   * Sends all byte arrays of a call's arguments, which may lie in shared memory; {@link PipedBytes.restore} puts them
   * back.
   * @throws `signal.reason`; the system's error once the process has gone
   */
  async send(given: unknown, signal: AbortSignal): Promise<PipedArgs> {
    const arrays = new Map<number, Uint8Array>()
    const args = mapped(given, (value) => {
      if (!(value instanceof Uint8Array)) return undefined
      const piped: Piped = { pipedId: this.#sent++ % 2 ** 32 }
      arrays.set(piped.pipedId, value)
      return piped
    })
    const piped = [...arrays.keys()]
    try {
      for (const [id, bytes] of arrays) await this.#sendOne(id, bytes, signal)
      signal.throwIfAborted()
    } catch (error) {
      for (const id of piped) this.#pipe?.write(header(Buffer.alloc(HEADER_BYTES), id, 0, DROPPED))
      throw error
    }
    return { args, piped }
  }

  async #sendOne(id: number, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    // A stream takes no shared memory, and what it was given last is not to change before it was written.
    const buffer = Buffer.allocUnsafeSlow(HEADER_BYTES + Math.min(PART_BYTES, bytes.length))
    let at = 0
    do {
      signal.throwIfAborted()
      const part = bytes.subarray(at, at + PART_BYTES)
      header(buffer, id, bytes.length, part.length).set(part, HEADER_BYTES)
      await this.#write(buffer.subarray(0, HEADER_BYTES + part.length))
      at += part.length
    } while (at < bytes.length)
  }

  #write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#pipe === undefined) throw new Error('there is no pipe')
      this.#pipe.write(bytes, (error) => (error ? reject(error) : resolve()))
    })
  }
}

/** A copy of plain objects and lists, with something else for what `of` has an answer to. */
function mapped(value: unknown, of: (value: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const answer = of(value)
  if (answer !== undefined) return answer
  if (Array.isArray(value)) return value.map((element) => mapped(element, of))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, mapped(field, of)]))
}

function header(buffer: Buffer, id: number, total: number, part: number): Buffer {
  for (const [k, value] of [id, total, part].entries()) buffer.writeUInt32LE(value, 4 * k)
  return buffer
}

/** An array that is coming, or that somebody waits for. */
interface Incoming {
  readonly complete: Promise<Uint8Array>
  readonly resolve: (bytes: Uint8Array) => void
  bytes: Uint8Array | undefined
  at: number
}

/** Of ES2024; TypeScript has it in a library with what Node 20 lacks. */
interface ResizableBuffer extends ArrayBuffer {
  readonly resizable: boolean
  resize(bytes: number): void
}

const Resizable = ArrayBuffer as unknown as new (bytes: number, options: { maxByteLength: number }) => ResizableBuffer

/**
 * Frees the memory of an array that came through a pipe, and leaves it empty: to V8 these bytes count as nothing, so
 * that it sees no hurry to look for garbage. Does nothing to other arrays.
 */
export function freePiped({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && (buffer as ResizableBuffer).resizable) (buffer as ResizableBuffer).resize(0)
}

/** The end in the child: arrays that came, until a call takes them. */
export class PipedBytes {
  readonly #incoming = new Map<number, Incoming>()
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerBytes = 0
  /** The array whose part is being read, and how much of the part is still to come. */
  #current: Incoming | undefined
  #missing = 0

  /** Reads from {@link PIPE_FD} from now on, with one buffer. */
  listen(): void {
    const onread = {
      buffer: new Uint8Array(READ_BYTES),
      callback: (count: number, buffer: Uint8Array): boolean => {
        this.take(buffer.subarray(0, count))
        return true
      },
    }
    // The types know `onread` of `connect` alone. An end of the pipe is the parent's, which ends this process.
    const options = { fd: PIPE_FD, writable: false, onread }
    new Socket(options).on('error', () => {})
  }

  /** The arguments of a call as they were before {@link BytePipe.send}, once their arrays are there. */
  async restore({ args, piped }: PipedArgs): Promise<unknown> {
    const arrays = new Map<number, Uint8Array>()
    for (const id of piped) {
      arrays.set(id, await this.#of(id).complete)
      this.#incoming.delete(id)
    }
    return mapped(args, (value) => arrays.get((value as Partial<Piped>).pipedId ?? -1))
  }

  /** The next bytes of the pipe; they are the pipe's again when it returns. */
  take(read: Uint8Array): void {
    for (let at = 0; at < read.length; ) {
      if (this.#current !== undefined) {
        const { bytes } = this.#current
        const part = read.subarray(at, at + this.#missing)
        bytes?.set(part, this.#current.at)
        this.#current.at += part.length
        this.#missing -= part.length
        at += part.length
        this.#ended()
        continue
      }
      const part = read.subarray(at, at + HEADER_BYTES - this.#headerBytes)
      this.#header.set(part, this.#headerBytes)
      this.#headerBytes += part.length
      at += part.length
      if (this.#headerBytes === HEADER_BYTES) this.#begin()
    }
  }

  #begin(): void {
    this.#headerBytes = 0
    const [id, total, part] = [0, 4, 8].map((at) => this.#header.readUInt32LE(at)) as [number, number, number]
    if (part === DROPPED) {
      this.#drop(id)
      return
    }
    this.#current = this.#of(id)
    this.#current.bytes ??= new Uint8Array(new Resizable(total, { maxByteLength: total }))
    this.#missing = part
    this.#ended()
  }

  #drop(id: number): void {
    const bytes = this.#incoming.get(id)?.bytes
    if (bytes !== undefined) freePiped(bytes)
    this.#incoming.delete(id)
  }

  /** If the part has come whole; the last one completes its array. */
  #ended(): void {
    if (this.#current === undefined || this.#missing > 0) return
    const { bytes, at, resolve } = this.#current
    if (bytes !== undefined && at === bytes.length) resolve(bytes)
    this.#current = undefined
  }

  #of(id: number): Incoming {
    let incoming = this.#incoming.get(id)
    if (incoming === undefined) {
      let resolve: (bytes: Uint8Array) => void = () => {}
      const complete = new Promise<Uint8Array>((settle) => {
        resolve = settle
      })
      incoming = { complete, resolve, bytes: undefined, at: 0 }
      this.#incoming.set(id, incoming)
    }
    return incoming
  }
}
