/**
 * Identical cards have one name, and no option of WebGPU tells them apart: each process gets the first one. Mesa's
 * Vulkan layer `VK_LAYER_MESA_device_select` (it comes with Mesa's drivers and acts on those of other makers too) reads
 * in `DRI_PRIME` which card a process shall see first. That of Mesa 22 compares the wrong way round: it takes the last
 * card that was not asked for. So what a process got is looked at (`card-in-use.ts`), and another value is tried where
 * it is a card that some other process has.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { GpuUnavailableError } from '../errors.ts'
import type { DeviceClient } from './device-client.ts'

const VENDORS: readonly (readonly [RegExp, string])[] = [
  [/nvidia|geforce|quadro|tesla|rtx/i, '0x10de'],
  [/amd|radeon|instinct/i, '0x1002'],
  [/intel|arc/i, '0x8086'],
]

/** PCI's class of display controllers. */
const DISPLAY = '0x03'

type Environment = Readonly<Record<string, string>>

/**
 * What a process may be given to get one of several identical cards: first what asks for its own, then nothing, which
 * is the first card where the layer compares the wrong way round, then what asks for another.
 */
function environments(addresses: readonly string[], copy: number): readonly Environment[] {
  const own = addresses[copy]
  if (own === undefined) return [{}]
  const asking = (address: string): Environment => ({ DRI_PRIME: `pci-${address.replace(/[:.]/g, '_')}` })
  return [asking(own), {}, ...addresses.filter((address) => address !== own).map(asking)]
}

/** Gives each of the cards of one name, which may be but one, to one process. */
export class IdenticalCards {
  readonly #name: string
  readonly #addresses: readonly string[]
  readonly #copies: number
  /** The card that each process has. */
  readonly #inUse = new Map<number, string>()

  /**
   * @param addresses a test seam: PCI addresses of the cards; none where there is nothing to tell apart, or where they
   *   can't be told, which is anywhere but on Linux
   */
  constructor(
    name: string,
    copies: number,
    addresses: readonly string[] = copies > 1 ? cardAddresses(name, copies) : [],
  ) {
    this.#name = name
    this.#copies = copies
    this.#addresses = addresses
  }

  /**
   * Starts a process on a card that no other has. Where it can't be seen which one it got, that is what it asked for.
   * @param copy which one of the cards
   * @param open starts a process with these variables
   * @throws {GpuUnavailableError} whatever was tried, it got a card that another has
   */
  async start(copy: number, open: (environment: Environment) => Promise<DeviceClient>): Promise<DeviceClient> {
    this.#inUse.delete(copy)
    const got = new Set<string>()
    for (const environment of environments(this.#addresses, copy)) {
      const client = await open(environment)
      const card = client.info.adapter?.card
      if (card === undefined) return client
      if (![...this.#inUse.values()].includes(card)) {
        this.#inUse.set(copy, card)
        return client
      }
      got.add(card)
      await client.close()
    }
    const expected = this.#addresses[copy] ?? 'a card that no other process has'
    throw new GpuUnavailableError(
      `${this.#name}, ${copy + 1} of ${this.#copies} alike, can't be told from the others: Vulkan gives its process a ` +
        "card that another process has; Mesa's device-select layer of version 23 or later tells them apart",
      { details: { device: this.#name, expected, received: [...got].join(', ') } },
    )
  }
}

/** PCI addresses (`0000:06:00.0`) of the cards that have this name. Only their order has to be the same each time. */
function cardAddresses(name: string, copies: number): string[] {
  const [, vendor] = VENDORS.find(([pattern]) => pattern.test(name)) ?? []
  // Of this vendor's driver: the cards that a container was given, where the bus shows all of the machine's.
  if (vendor === '0x10de') {
    const given = list('/proc/driver/nvidia/gpus')
    if (given.length >= copies) return given
  }
  const bus = '/sys/bus/pci/devices'
  const models = new Map<string, string[]>()
  for (const address of list(bus)) {
    if (!read(`${bus}/${address}/class`).startsWith(DISPLAY)) continue
    const maker = read(`${bus}/${address}/vendor`)
    if (vendor !== undefined && maker !== vendor) continue
    const model = `${maker} ${read(`${bus}/${address}/device`)}`
    models.set(model, [...(models.get(model) ?? []), address])
  }
  return [...models.values()].find(({ length }) => length === copies) ?? []
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
