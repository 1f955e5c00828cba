/** Witnesses whose check is left to a GPU, on fake devices: what they count, and what follows if they do not hold. */
import { describe, expect, test } from 'vitest'
import { InvalidRequestError, ProofInvalidError, SynthesisError } from '../../src/errors.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { FakeMachine, recordEvents } from '../support/fake-device.ts'
import { windowRequest, winningRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'

describe('a witness that a GPU checks', () => {
  test('is not counted beside its input where it is that itself', async () => {
    const engine = await new FakeMachine({ kind: 'webgpu' }).engine()
    const onDevice: number[] = []
    engine.on('partition', ({ state }) => {
      const { usedBytes, inputBytes } = engine.status().memory
      if (state === 'gpu') onDevice.push(usedBytes - inputBytes)
    })
    // The second leaves a place of its circuit free, so that its witness is a padded copy.
    await engine.prove(syntheticWindowRequest('2k', 2))
    await engine.prove(syntheticWindowRequest('2k', 1))
    const [full, padded] = onDevice as [number, number]
    // Of two sectors: three commitments, and of ten challenges each a leaf and the siblings of two levels of eight.
    expect(padded - full).toBe(2 * (3 + 10 * (1 + 7 + 7)) * 32)
    await engine.close()
    expect(engine.status().memory.usedBytes).toBe(0)
  })
})

describe('a witness that a GPU finds not to satisfy the circuit', () => {
  const unsatisfied = { kind: 'throw', error: new SynthesisError('row 5 does not hold') } as const
  const wrongPath = new InvalidRequestError('a path leads elsewhere', { details: { sector: 9n } })
  const told = (seen: readonly string[]): string[] =>
    seen.filter((event) => /^(verifyFailed|retry|fallback|completed|failed)/.test(event))

  test('is checked by the host, whose error is the job’s; nothing is tried again, and no device is blamed', async () => {
    const machine = new FakeMachine({ kind: 'webgpu', devices: 2, standIn: true })
      .fail('prove', 1, unsatisfied)
      .fail('synthesize', 2, { kind: 'throw', error: wrongPath })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    const error = await proverErrorOf(() => engine.prove(windowRequest()))
    expect(error).toMatchObject({ code: 'ERR_INVALID_REQUEST', message: wrongPath.message, details: { sector: 9n } })
    expect(machine.unchecked).toEqual([true])
    expect(machine.calls('prove')).toBe(1)
    expect(told(seen)).toEqual(['failed'])
    expect(seen.filter((event) => event.startsWith('partition'))).toEqual([
      'partition 0 synthesizing',
      'partition 0 synth_done',
      'partition 0 gpu',
      'partition 0 synth_done',
      'partition 0 pending',
      'partition 0 synthesizing',
      'partition 0 failed',
    ])
    expect(engine.status().gpus.map(({ state, verifyFailures }) => [state, verifyFailures])).toEqual([
      ['idle', 0],
      ['idle', 0],
    ])
    // The next job is none the worse for it.
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    await engine.close()
  })

  test('is proved on another device if the host finds no fault in it: the first one is wrong', async () => {
    const machine = new FakeMachine({ kind: 'webgpu', devices: 2 }).fail('prove', 1, unsatisfied)
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    let last: number | undefined
    engine.on('partition', ({ gpu }) => {
      last = gpu
    })
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    expect(machine.unchecked).toEqual([true, false, true])
    expect(told(seen)).toEqual(['verifyFailed 0', 'retry 0 2', 'completed'])
    expect(last).toBe(1)
    expect(engine.status().gpus.map(({ verifyFailures }) => verifyFailures)).toEqual([1, 0])
    await engine.close()
  })

  test('is proved by the stand-in where there is no other device, and checked by the host for that', async () => {
    const machine = new FakeMachine({ kind: 'webgpu', standIn: true }).fail('prove', 1, unsatisfied)
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    expect((await engine.prove(windowRequest())).verified).toBe(true)
    expect(machine.unchecked).toEqual([true, false, false])
    expect(told(seen)).toEqual(['verifyFailed 0', 'retry 0 2', 'fallback', 'completed'])
    await engine.close()
  })

  test('fails the job if two devices find fault with what has none', async () => {
    const machine = new FakeMachine({ kind: 'webgpu', devices: 2 })
      .fail('prove', 1, unsatisfied)
      .fail('prove', 2, unsatisfied)
    const engine = await machine.engine()
    const error = await proverErrorOf(() => engine.prove(windowRequest()))
    expect(error).toBeInstanceOf(ProofInvalidError)
    expect(error.message).toContain('row 5 does not hold as device 0 computes it, and its input is sound')
    expect(error.details.partition).toBe(0)
    await engine.close()
  })

  test('is told of by the host also where the GPU is blind to it: before the proof that does not hold is made anew', async () => {
    const machine = new FakeMachine({ kind: 'webgpu' })
      .fail('prove', 1, { kind: 'wrong' })
      .fail('prove', 2, { kind: 'wrong' })
    const engine = await machine.engine()
    const seen = recordEvents(engine)
    await proverErrorOf(() => engine.prove(windowRequest()))
    expect(machine.unchecked).toEqual([true, false])
    machine.fail('prove', 3, { kind: 'wrong' }).fail('synthesize', 4, { kind: 'throw', error: wrongPath })
    const error = await proverErrorOf(() => engine.prove(windowRequest()))
    expect(error).toMatchObject({ code: 'ERR_INVALID_REQUEST', details: { sector: 9n } })
    expect(told(seen).slice(-3)).toEqual(['verifyFailed 0', 'retry 0 2', 'failed'])
    await engine.close()
  })

  test('is checked by the host at once where the CPU proves, or a seal is proved', async () => {
    const machine = new FakeMachine()
    const engine = await machine.engine()
    await engine.prove(windowRequest())
    await engine.prove(winningRequest())
    expect(machine.unchecked).toEqual([false, false])
    await engine.close()
  })
})
