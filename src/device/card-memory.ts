/**
 * How much memory a card has, where its driver says: WebGPU does not. It decides what is kept on the card, never what
 * is refused.
 */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'

const MIB = 2 ** 20

/** NVIDIA's tool takes a second where no other program holds the driver. */
const ANSWER_LIMIT_MS = 3_000

/** Where Linux lists the cards. */
const CARDS = '/sys/class/drm'

/**
 * Memory of the cards of this name, in bytes; the smallest one's if there are several, and absent where nobody says.
 * @param name as the adapter has it, such as `NVIDIA H200`
 */
export async function cardMemoryBytes(name: string): Promise<number | undefined> {
  const found = /NVIDIA/.test(name)
    ? memoryOf(name, await nvidiaTable())
    : /AMD|Radeon/.test(name)
      ? await amdMemory()
      : []
  return found.length === 0 ? undefined : Math.min(...found)
}

/** Bytes of each card of a name in a table of `name, MiB`. */
export function memoryOf(name: string, table: string): number[] {
  return table.split('\n').flatMap((line) => {
    const at = line.lastIndexOf(',')
    const mib = Number(line.slice(at + 1))
    return at > 0 && line.slice(0, at).trim() === name && Number.isSafeInteger(mib) && mib > 0 ? [mib * MIB] : []
  })
}

function nvidiaTable(): Promise<string> {
  return new Promise((resolve) => {
    const args = ['--query-gpu=name,memory.total', '--format=csv,noheader,nounits']
    execFile('nvidia-smi', args, { timeout: ANSWER_LIMIT_MS }, (error, output) => resolve(error === null ? output : ''))
  })
}

/** AMD's driver tells in a file of each card; cards of other makers have none. */
async function amdMemory(): Promise<number[]> {
  try {
    const cards = (await readdir(CARDS)).filter((card) => /^card\d+$/.test(card))
    const sizes = cards.map((card) => readFile(`${CARDS}/${card}/device/mem_info_vram_total`, 'utf8').catch(() => ''))
    return (await Promise.all(sizes)).map(Number).filter((bytes) => Number.isSafeInteger(bytes) && bytes > 0)
  } catch {
    return []
  }
}
