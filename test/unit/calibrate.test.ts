import { expect, test } from 'vitest'
import { race } from '../../src/webgpu/calibrate.ts'

/** Measures what a rule says of the k-th measurement of a value, and records the order. */
function measured(rule: (value: number, k: number) => number) {
  const order: number[] = []
  const measure = (value: number): Promise<number> => {
    order.push(value)
    return Promise.resolve(rule(value, order.filter((other) => other === value).length))
  }
  return { order, measure }
}

test('values take turns, and the default stays where nothing is three in a hundred faster', async () => {
  const { order, measure } = measured((value) => 100 + (value === 32 ? -2.9 : value))
  const { chosen, tried } = await race('workgroupSize', [0, 32, 64], measure)
  expect(chosen).toBe(0)
  expect(order.slice(0, 6)).toEqual([0, 32, 64, 0, 32, 64])
  expect(order).toHaveLength(15)
  expect(tried).toEqual([
    { value: 0, ms: 100 },
    { value: 32, ms: 97.1 },
    { value: 64, ms: 164 },
  ])
})

test('what is faster twice is taken, the least time of each counts', async () => {
  const slowed = (ms: number, k: number): number => (k % 5 === 3 ? ms : 3 * ms)
  const { order, measure } = measured((value, k) => slowed(value === 32 ? 90 : 100, k))
  expect(await race('workgroupSize', [64, 32], measure)).toMatchObject({
    chosen: 32,
    tried: [
      { value: 64, ms: 100 },
      { value: 32, ms: 90 },
    ],
  })
  expect(order).toHaveLength(20)
})

test('what was faster by chance is not', async () => {
  const { measure } = measured((value, k) => (value === 32 && k === 4 ? 50 : 100))
  expect(await race('workgroupSize', [64, 32, 128], measure)).toMatchObject({ chosen: 64 })
})
