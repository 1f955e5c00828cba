import { blake2s } from '@noble/hashes/blake2.js'
import { describe, expect, it } from 'vitest'
import { CircuitMachine } from '../../src/cpu/circuit-machine.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const MESSAGE = Uint8Array.from({ length: 5000 }, (_, i) => Math.imul(i + 1, 2_654_435_761) >>> 24)

const machine = new CircuitMachine()
const { exports, memory, arena } = machine
const states = arena.allocate(3 * 128)
const result = arena.allocate(32)
const message = arena.allocate(MESSAGE.length)
new Uint8Array(memory.buffer).set(MESSAGE, message)

function digest(state: number): string {
  exports.blake2sDigest(state, states + 256, result)
  return hex(new Uint8Array(memory.buffer, result, 32))
}

/** Lengths on both sides of every boundary of a block, and cuts that leave the buffer empty, full and in between. */
const LENGTHS = [0, 1, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1000, 4096, 4999]

describe('BLAKE2s in WebAssembly', () => {
  it.each(LENGTHS)('equals the reference for %i bytes, however they are cut', (length) => {
    const expected = hex(blake2s(MESSAGE.subarray(0, length)))
    for (const cut of new Set([0, 1, 63, 64, 65, 128, 100, length].filter((at) => at <= length))) {
      exports.blake2sInit(states)
      exports.blake2sUpdate(states, message, cut)
      exports.blake2sUpdate(states, message + cut, length - cut)
      expect(digest(states)).toBe(expected)
    }
  })

  it('gives digests in between without disturbing the message', () => {
    exports.blake2sInit(states)
    for (let at = 0; at < 1000; at += 50) {
      exports.blake2sUpdate(states, message + at, 50)
      expect(digest(states)).toBe(hex(blake2s(MESSAGE.subarray(0, at + 50))))
    }
  })

  it.each([0, 1, 24, 40, 63, 64, 65, 128])('hashes one message into two states, one ahead by %i bytes', (ahead) => {
    for (const length of LENGTHS) {
      const [first, second] = [states, states + 128]
      exports.blake2sInit(first)
      exports.blake2sInit(second)
      exports.blake2sUpdate(first, message, ahead)
      exports.blake2sUpdateTwo(first, second, message, length >> 1)
      exports.blake2sUpdateTwo(first, second, message + (length >> 1), length - (length >> 1))
      const body = MESSAGE.subarray(0, length)
      expect(digest(first)).toBe(hex(blake2s(Uint8Array.from([...MESSAGE.subarray(0, ahead), ...body]))))
      expect(digest(second)).toBe(hex(blake2s(body)))
    }
  })
})
