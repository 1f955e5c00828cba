/**
 * Memory and processor time of this process and its children, as Linux tells them: sampled, since a child that has
 * ended tells nothing.
 */
import { readdirSync, readFileSync } from 'node:fs'

const SAMPLE_MS = 100
/** A tick of `/proc/PID/stat`. */
const TICK_MS = 10

export class HostUsage {
  #timer
  #ownCpu = process.cpuUsage()
  /** By process: CPU time when first seen and last seen, and most resident memory. */
  #children = new Map()
  #peak = 0
  #ownPeak = 0
  /** Memory when counting began. */
  #before = 0
  #ownBefore = 0
  /** Of the peak, what is memory of the processes' own, of files, and shared with other processes or a driver. */
  #parts = ''

  constructor() {
    this.#sample()
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
    this.#timer.unref()
  }

  /** Forgets what was: peaks and times count from now. */
  restart() {
    this.#ownCpu = process.cpuUsage()
    for (const child of this.#children.values()) child.firstMs = child.lastMs
    this.#peak = 0
    this.#ownPeak = 0
    this.#sample()
    this.#before = this.#peak
    this.#ownBefore = this.#ownPeak
  }

  /** Resident memory of this process and of each child. */
  now() {
    return [process.pid, ...childrenOf(process.pid)].map(residentBytes)
  }

  #sample() {
    const own = residentBytes(process.pid)
    let sum = own
    const pids = [process.pid]
    for (const pid of childrenOf(process.pid)) {
      const lastMs = cpuMs(pid)
      if (lastMs === undefined) continue
      const known = this.#children.get(pid)
      this.#children.set(pid, { firstMs: known?.firstMs ?? 0, lastMs })
      sum += residentBytes(pid)
      pids.push(pid)
    }
    this.#ownPeak = Math.max(this.#ownPeak, own)
    if (sum <= this.#peak) return
    this.#peak = sum
    this.#parts = pids.map(partsOf).join(' + ')
  }

  /**
   * Most resident memory of all processes at once and of this one, and seconds of CPU time of this one and of its
   * children.
   */
  report() {
    this.#sample()
    const { user, system } = process.cpuUsage(this.#ownCpu)
    const children = [...this.#children.values()].reduce((sum, { firstMs, lastMs }) => sum + lastMs - firstMs, 0)
    return {
      rssBytes: this.#peak,
      ownRssBytes: this.#ownPeak,
      rssBefore: this.#before,
      ownRssBefore: this.#ownBefore,
      rssParts: this.#parts,
      ownCpuSeconds: (user + system) / 1e6,
      childCpuSeconds: children / 1000,
    }
  }

  stop() {
    clearInterval(this.#timer)
  }
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // It has ended.
    return undefined
  }
}

function residentBytes(pid) {
  const [, kilobytes] = read(`/proc/${pid}/status`)?.match(/^VmRSS:\s+(\d+) kB$/m) ?? []
  return Number(kilobytes ?? 0) * 1024
}

/** Resident memory of a process in MiB: its own, of files, shared. */
function partsOf(pid) {
  const status = read(`/proc/${pid}/status`) ?? ''
  const mib = ['RssAnon', 'RssFile', 'RssShmem'].map((name) => {
    const [, kilobytes] = status.match(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm')) ?? []
    return Math.round(Number(kilobytes ?? 0) / 1024)
  })
  return `(${mib.join(', ')})`
}

/** After the name in brackets: state and parent, then 9 numbers, then user and system time in ticks. */
function statFields(pid) {
  return read(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ')
}

function cpuMs(pid) {
  const fields = statFields(pid)
  return fields === undefined ? undefined : (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

function childrenOf(parent) {
  const listed = read(`/proc/${parent}/task/${parent}/children`)
  if (listed !== undefined) return listed.trim().split(' ').filter(Boolean).map(Number)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statFields(name)?.[1] === String(parent))
    .map(Number)
}
