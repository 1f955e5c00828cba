/**
 * Which of several cards this process has opened. WebGPU does not say, and a driver opens all of them to list them; but
 * NVIDIA's opens the file of the one that is used dozens of times, and those of the others some few.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** What is used is opened so many times as often as any other: 54 times and 7 or 8 were seen. */
const CLEARLY = 2

/**
 * @param proc a test seam: where the kernel tells of processes and drivers
 * @returns the card's PCI address (`0000:06:00.0`), or undefined where it can't be told
 */
export function cardInUse(proc = '/proc'): string | undefined {
  try {
    const opened = new Map<number, number>()
    for (const file of readdirSync(`${proc}/self/fd`)) {
      const minor = /^\/dev\/nvidia(\d+)$/.exec(target(`${proc}/self/fd/${file}`))?.[1]
      if (minor !== undefined) opened.set(Number(minor), (opened.get(Number(minor)) ?? 0) + 1)
    }
    const [most, next] = [...opened].sort(([, a], [, b]) => b - a)
    if (most === undefined || most[1] < CLEARLY * (next?.[1] ?? 0)) return undefined
    const gpus = `${proc}/driver/nvidia/gpus`
    return readdirSync(gpus).find((address) => minorOf(`${gpus}/${address}/information`) === most[0])
  } catch {
    return undefined
  }
}

function target(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    // It was closed meanwhile.
    return ''
  }
}

function minorOf(information: string): number {
  return Number(/Device Minor:\s*(\d+)/.exec(readFileSync(information, 'utf8'))?.[1] ?? Number.NaN)
}
