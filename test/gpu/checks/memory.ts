/** Device memory near its limit: what takes another buffer's place waits until the driver has that one's memory. */
import assert from 'node:assert/strict'
import { type Check, withDevice } from '../harness.ts'

const MIB = 2 ** 20
/** With room for the parameters of a unit. */
const memoryBytes = 64 * MIB + 2 ** 16

const near: Check = ({ info, limits }) =>
  withDevice({ info, limits }, { memoryBytes }, async (gpu) => {
    gpu.release(await gpu.allocate(40 * MIB, 'first'))
    // 40 MiB that go and 48 that come are more than the limit and a sixteenth of it.
    const second = await gpu.allocate(48 * MIB, 'second')
    assert.equal(gpu.allocatedBytes, 48 * MIB)
    assert.equal(gpu.leaving.bytes, 0)
    gpu.release(await gpu.allocate(2 * MIB, 'third'))
    // 48, 16 and the 2 MiB that go are 66, of 68.
    const fourth = await gpu.allocate(16 * MIB, 'fourth')
    assert.equal(gpu.leaving.bytes, 2 * MIB)
    // A unit that was submitted afterwards is enough for the driver to have them.
    await gpu.commands('clear').clear(fourth, 0, 4).submit()
    assert.equal(gpu.leaving.bytes, 0)
    await assert.rejects(gpu.allocate(MIB, 'too much'), {
      code: 'ERR_GPU_OUT_OF_MEMORY',
      message: `No device memory for too much: ${MIB} bytes on top of ${64 * MIB}; gpu.memoryBytes is ${memoryBytes}.`,
      details: { device: info.name, received: String(MIB), field: 'gpu.memoryBytes' },
    })
    for (const buffer of [second, fourth]) gpu.release(buffer)
    assert.equal(gpu.usedBytes, 0)
  })

export const memoryChecks: Readonly<Record<string, Check>> = { 'memory near its limit': near }
