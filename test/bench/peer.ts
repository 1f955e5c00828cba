/**
 * Runs another prover as a child process and reads its figures, so that both sides are measured in the same minutes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** One proof by the peer. */
export interface PeerRun {
  /** Up to the start of the transforms. */
  readonly synthesisMs: number
  /** Transforms and sums. */
  readonly proverMs: number
  /** Both: the parameters are mapped and the request read before, as with a warm engine. */
  readonly totalMs: number
  /** Of all its threads, start and verification included; undefined where the system doesn't tell. */
  readonly cpuMs: number | undefined
  readonly peakRssBytes: number | undefined
}

/** What Linux tells of a running process. */
interface Usage {
  readonly cpuMs: number
  readonly peakRssBytes: number
}

function usage(pid: number | undefined): Usage | undefined {
  try {
    const [, peak] = readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmHWM:\s+(\d+) kB$/m) ?? []
    // After the name in brackets: state, then 10 numbers, then user and system time in ticks of 10 ms.
    const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? []
    if (peak === undefined || user === undefined || system === undefined) return undefined
    return { cpuMs: (Number(user) + Number(system)) * 10, peakRssBytes: Number(peak) * 1024 }
  } catch {
    return undefined
  }
}

/** Parses a duration as Rust prints it: `22.2ms`, `1.07s`, `812µs`. @returns milliseconds */
function milliseconds(text: string): number {
  const [, value, unit] = text.match(/^([\d.]+)(ns|µs|ms|s)$/) ?? []
  const scale = { ns: 1e-6, µs: 1e-3, ms: 1, s: 1000 }[unit ?? '']
  if (scale === undefined) throw new Error(`not a duration: ${text}`)
  return Number(value) * scale
}

async function finished(child: ChildProcess): Promise<{ code: number | null; stderr: string }> {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
  })
  const code = await new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject))
  return { code, stderr }
}

/**
 * `peer prove KIND`, which makes one proof and verifies it.
 * @param kind what the peer calls it: `winning`, `porep`, `update`
 * @param input folder with `request.json` and the vanilla proofs
 * @param params a `.params` file in bellperson's format
 */
export async function provePeer(peer: string, kind: string, input: string, params: string): Promise<PeerRun> {
  const child = spawn(peer, ['prove', kind, '--in', input, '--params', params], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let used: Usage | undefined
  // Both only grow, so what is read shortly before the end is the whole.
  const timer = setInterval(() => {
    used = usage(child.pid) ?? used
  }, 50)
  const { code, stderr } = await finished(child).finally(() => clearInterval(timer))
  const [, synthesis, prover, total] = stderr.match(/synthesis (\S+), prover (\S+), total (\S+)/) ?? []
  if (code !== 0 || synthesis === undefined || prover === undefined || total === undefined) {
    throw new Error(`the peer failed with exit code ${code}: ${stderr.trim()}`)
  }
  return {
    synthesisMs: milliseconds(synthesis),
    proverMs: milliseconds(prover),
    totalMs: milliseconds(total),
    cpuMs: used?.cpuMs,
    peakRssBytes: used?.peakRssBytes,
  }
}
