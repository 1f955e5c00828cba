/**
 * Identical cards have one name, and no option of WebGPU tells them apart: each process gets the first one. Mesa's
 * Vulkan layer `VK_LAYER_MESA_device_select` (it comes with Mesa's drivers and acts on those of other makers too) reads
 * in `DRI_PRIME` which card a process shall see first.
 */
import { readdirSync, readFileSync } from 'node:fs'

const VENDORS: readonly (readonly [RegExp, string])[] = [
  [/nvidia|geforce|quadro|tesla|rtx/i, '0x10de'],
  [/amd|radeon|instinct/i, '0x1002'],
  [/intel|arc/i, '0x8086'],
]

/** PCI's class of display controllers. */
const DISPLAY = '0x03'

/**
 * Variables for a process that shall use one of several identical cards; none where the cards can't be told apart,
 * which is anywhere but on Linux.
 * @param copy which one, of `copies`
 */
export function environmentOfCard(name: string, copy: number, copies: number): Readonly<Record<string, string>> {
  const address = cardAddresses(name, copies)[copy]
  return address === undefined ? {} : { DRI_PRIME: `pci-${address.replace(/[:.]/g, '_')}` }
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
