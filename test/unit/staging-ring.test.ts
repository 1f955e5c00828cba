/** The ring of staging buffers where device memory is short: whoever waits for a buffer gets one, or hears why not. */
import { expect, test } from 'vitest'
import { StagingRing } from '../../src/webgpu/staging.ts'
import { STAGING_BYTES } from '../../src/webgpu/staging-plan.ts'

/** Buffers that the test makes, refuses, and maps. */
class Target {
  readonly asked: { make: () => void; refuse: () => void }[] = []
  readonly mapped: (() => void)[] = []
  readonly device = {} as GPUDevice

  guard<T>(promise: Promise<T>): Promise<T> {
    return promise
  }

  create(): Promise<GPUBuffer> {
    return new Promise((resolve, reject) => {
      this.asked.push({ make: () => resolve(this.#buffer()), refuse: () => reject(new Error('no memory')) })
    })
  }

  destroy(): void {}

  #buffer(): GPUBuffer {
    return {
      getMappedRange: () => new ArrayBuffer(4),
      unmap: () => {},
      mapAsync: () => new Promise<void>((resolve) => this.mapped.push(resolve)),
    } as never
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const send = (ring: StagingRing, sent: string[], name: string): Promise<unknown> =>
  ring.send(
    4,
    () => {},
    () => sent.push(name),
  )

test('all who wait hear of it if no buffer can be made', async () => {
  const target = new Target()
  const ring = new StagingRing(target)
  const sends = [send(ring, [], 'first'), send(ring, [], 'second')]
  const settled = Promise.allSettled(sends)
  target.asked[0]?.refuse()
  await turn()
  target.asked[1]?.refuse()
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(ring.bytes).toBe(0)
})

test('the ring grows for who may have more of it, and is shared by all', async () => {
  const target = new Target()
  const ring = new StagingRing(target)
  const sent: string[] = []
  const made = Array.from({ length: 6 }, async (_, k) => {
    const sending = ring.send(
      4,
      () => {},
      () => sent.push(`large ${k}`),
      6,
    )
    target.asked[k]?.make()
    await sending
  })
  await Promise.all(made)
  expect(ring.bytes).toBe(6 * STAGING_BYTES)
  const waiting = send(ring, sent, 'small')
  await turn()
  expect([sent.length, target.asked.length]).toEqual([6, 6])
  target.mapped[0]?.()
  await waiting
  expect(sent.at(-1)).toBe('small')
})

test('a buffer that became free while another was refused is taken', async () => {
  const target = new Target()
  const ring = new StagingRing(target)
  const sent: string[] = []
  const first = send(ring, sent, 'first')
  target.asked[0]?.make()
  await first
  const second = send(ring, sent, 'second')
  target.mapped[0]?.()
  await turn()
  target.asked[1]?.refuse()
  await second
  expect([sent, target.asked.length]).toEqual([['first', 'second'], 2])
})
