/** One process for each of several identical cards, whatever Vulkan's layers make of what a process asks for. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cardInUse } from '../../src/device/card-in-use.ts'
import type { DeviceClient } from '../../src/device/device-client.ts'
import { IdenticalCards } from '../../src/device/identical-cards.ts'
import { GpuUnavailableError } from '../../src/errors.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const ADDRESSES = ['0000:06:00.0', '0000:07:00.0', '0000:08:00.0', '0000:09:00.0'] as const
const tag = (address: string): string => `pci-${address.replace(/[:.]/g, '_')}`

/** Which card a process gets that asks for this one, or for none. */
type Layer = (asked: string | undefined, addresses: readonly string[]) => string | undefined
const sound: Layer = (asked, addresses) => addresses.find((address) => tag(address) === asked) ?? addresses[0]
/** Takes the last one whose tag differs. */
const wrongWayRound: Layer = (asked, addresses) =>
  asked === undefined ? addresses[0] : addresses.findLast((address) => tag(address) !== asked)
const none: Layer = (_, addresses) => addresses[0]
const unseen: Layer = () => undefined

/** Starts all cards at once, and tells what each has, or that it was refused. */
async function startAll(layer: Layer, addresses: readonly string[]) {
  const cards = new IdenticalCards('H200', addresses.length, addresses)
  const open = new Set<DeviceClient>()
  const start = async (copy: number): Promise<string | undefined> => {
    const client = await cards.start(copy, async ({ DRI_PRIME }) => {
      await new Promise(setImmediate)
      const card = layer(DRI_PRIME, addresses)
      const adapter = { vendor: '', architecture: '', driver: '', software: false, limits: {}, ...(card && { card }) }
      const client = {
        info: { kind: 'webgpu', name: 'H200', maxLog2Domain: 27, adapter },
        close: async () => void open.delete(client),
      } as unknown as DeviceClient
      open.add(client)
      return client
    })
    return client.info.adapter?.card
  }
  const started = await Promise.allSettled(addresses.map((_, copy) => start(copy)))
  const got = started.map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as Error)))
  return { got, open, start }
}

describe('identical cards', () => {
  test('each gets the process that asked for it', async () => {
    expect((await startAll(sound, ADDRESSES)).got).toEqual(ADDRESSES)
  })

  test('with a layer that compares the wrong way round two and three of them have a process each', async () => {
    for (const count of [2, 3]) {
      const { got, open } = await startAll(wrongWayRound, ADDRESSES.slice(0, count))
      expect(new Set(got)).toEqual(new Set(ADDRESSES.slice(0, count)))
      expect(open.size).toBe(count)
    }
  })

  test('what no value reaches is refused, and no card has two processes', async () => {
    const { got, open } = await startAll(wrongWayRound, ADDRESSES)
    const refused = got.filter((one) => one instanceof GpuUnavailableError)
    expect(refused.length).toBe(1)
    expect(refused[0]).toMatchObject({ code: 'ERR_GPU_UNAVAILABLE', details: { device: 'H200' } })
    // The first one, and the two last ones.
    expect(new Set(got.filter((one) => typeof one === 'string'))).toEqual(
      new Set([ADDRESSES[0], ADDRESSES[2], ADDRESSES[3]]),
    )
    expect(open.size).toBe(3)
  })

  test('without a layer the first has one process, and the others none', async () => {
    const { got, open } = await startAll(none, ADDRESSES)
    expect(got.filter((one) => one === ADDRESSES[0]).length).toBe(1)
    expect(open.size).toBe(1)
  })

  test('where it can not be seen what a process got, it is taken as it is', async () => {
    const { got, open } = await startAll(unseen, ADDRESSES)
    expect(got).toEqual([undefined, undefined, undefined, undefined])
    expect(open.size).toBe(4)
  })

  test('a process that is started again gets its card back', async () => {
    const { got, start } = await startAll(sound, ADDRESSES)
    expect(await start(2)).toBe(got[2])
  })
})

describe('the card of this process', () => {
  const proc = temporaryDirectory()
  const opened = (counts: Readonly<Record<string, number>>): string | undefined => {
    rmSync(join(proc, 'self'), { recursive: true, force: true })
    mkdirSync(join(proc, 'self/fd'), { recursive: true })
    let number = 0
    for (const [file, count] of Object.entries(counts)) {
      for (let i = 0; i < count; i++) symlinkSync(file, join(proc, `self/fd/${number++}`))
    }
    return cardInUse(proc)
  }

  test('is the one whose file is open most often', () => {
    for (const [minor, address] of ADDRESSES.entries()) {
      const folder = join(proc, 'driver/nvidia/gpus', address)
      mkdirSync(folder, { recursive: true })
      writeFileSync(
        join(folder, 'information'),
        `Model: \t\t NVIDIA H200\nIRQ:   \t\t 0\nDevice Minor: \t ${3 - minor}\n`,
      )
    }
    const listed = { '/dev/nvidiactl': 90, '/dev/nvidia0': 8, '/dev/nvidia1': 7, '/dev/nvidia2': 7 }
    expect(opened({ ...listed, '/dev/nvidia3': 54 })).toBe('0000:06:00.0')
    expect(opened({ '/dev/nvidia0': 54, '/dev/null': 99 })).toBe('0000:09:00.0')
    expect(opened(listed)).toBeUndefined()
    expect(opened({ '/dev/null': 3 })).toBeUndefined()
    expect(opened({ '/dev/nvidia7': 54 })).toBeUndefined()
    removeDirectory(proc)
    expect(cardInUse(proc)).toBeUndefined()
  })
})
