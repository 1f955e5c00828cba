import { describe, expect, test } from 'vitest'
import { GuardedEmitter } from '../../src/events.ts'
import { type Logger, silentLogger } from '../../src/logger.ts'
import { proverErrorOf } from '../support/expect-error.ts'

const gpu = { ordinal: 0, state: 'ready' } as const

function recordingLogger(): { logger: Logger; lines: string[] } {
  const lines: string[] = []
  const error = (_fields: unknown, message?: string): void => void lines.push(message ?? '')
  return { logger: { ...silentLogger, error }, lines }
}

describe('GuardedEmitter', () => {
  test('a listener that throws does not stop the others and is reported as an error event', () => {
    const events = new GuardedEmitter(silentLogger)
    const seen: string[] = []
    events.on('error', (error) => seen.push(error.message))
    events.on('gpu', () => {
      throw new Error('boom')
    })
    events.on('gpu', ({ state }) => seen.push(state))
    events.emit('gpu', gpu)
    expect(seen).toEqual(['a listener of "gpu" failed: boom', 'ready'])
  })

  test('a listener that rejects is reported, not left as an unhandled rejection', async () => {
    const events = new GuardedEmitter(silentLogger)
    const reported = new Promise<Error>((resolve) => events.on('error', resolve))
    events.on('gpu', async () => {
      throw new Error('later')
    })
    events.emit('gpu', gpu)
    expect((await reported).message).toContain('later')
  })

  test('without an error listener the failure is logged; a failing error listener ends there', () => {
    const { logger, lines } = recordingLogger()
    const events = new GuardedEmitter(logger)
    events.emit('error', new Error('lost'))
    events.on('error', () => {
      throw new Error('again')
    })
    events.emit('error', new Error('lost'))
    expect(lines).toEqual(['engine error', 'a listener of "error" failed'])
  })

  test('what a listener throws may be anything, also what has no text', async () => {
    const events = new GuardedEmitter(silentLogger)
    const messages: string[] = []
    events.on('error', ({ message }) => messages.push(message))
    const thrown = [Object.create(null), Symbol('s'), null, undefined]
    for (const value of thrown) {
      events.on('gpu', () => {
        throw value
      })
      events.on('gpu', () => Promise.reject(value))
    }
    events.emit('gpu', gpu)
    await new Promise(setImmediate)
    expect(messages).toHaveLength(2 * thrown.length)
    expect(messages).toContain('a listener of "gpu" failed: a thrown object')
  })

  test('what is no function is refused where it is added', async () => {
    const events = new GuardedEmitter(silentLogger)
    for (const add of ['on', 'once'] as const) {
      const { code, details } = await proverErrorOf(() => events[add]('drained', 5 as never))
      expect([code, details.field]).toEqual(['ERR_INVALID_OPTIONS', 'listener'])
    }
  })

  test('a name of no event is refused, and told which there are', async () => {
    const events = new GuardedEmitter(silentLogger)
    for (const [add, name] of [
      ['on', 'faild'],
      ['once', 'constructor'],
      ['on', Symbol('drained')],
    ] as const) {
      const { code, details, message } = await proverErrorOf(() =>
        events[add](name as never, (() => undefined) as never),
      )
      expect([code, details.field, details.received]).toEqual(['ERR_INVALID_OPTIONS', 'event', String(name)])
      expect(message).toContain('queued, active')
    }
  })

  test('once is called once, also when it emits or throws; off takes it away', () => {
    const events = new GuardedEmitter(silentLogger)
    let calls = 0
    events.once('drained', () => {
      calls++
      events.emit('drained')
      throw new Error('ignored')
    })
    events.emit('drained')
    events.emit('drained')
    expect(calls).toBe(1)
    const listener = (): void => void calls++
    events.once('drained', listener)
    events.off('drained', listener)
    events.on('drained', listener)
    events.off('drained', listener)
    events.emit('drained')
    expect(calls).toBe(1)
  })

  test('a listener that takes itself off while called does not make the next one miss the event', () => {
    const events = new GuardedEmitter(silentLogger)
    const seen: string[] = []
    const first = (): void => {
      seen.push('first')
      events.off('drained', first)
    }
    events.on('drained', first)
    events.on('drained', () => seen.push('second'))
    events.emit('drained')
    events.emit('drained')
    expect(seen).toEqual(['first', 'second', 'second'])
  })
})
