import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { collectGarbage } from '../../src/cpu/collect-garbage.ts'

it('collects at once what nothing refers to any more', async () => {
  let memory: WebAssembly.Memory | undefined = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true })
  const kept = new WeakRef(memory)
  await delay(1)
  memory = undefined
  await collectGarbage()
  expect(kept.deref()).toBeUndefined()
})
