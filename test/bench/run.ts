/**
 * `npm run bench`: a proof on the CPU device of a warm engine, phase by phase. By default a WinningPoSt of a 32 GiB
 * sector.
 *
 *     npm run bench -- [--proof ID] [--rounds N] [--peer PATH] [--relaxed-simd auto|never] [--node PATH] [--no-kernels] [--json]
 *
 * `--peer PATH` runs the reference prover's `prove` on the same request and the same parameter file, alternating with
 * ours, and prints the ratio. `--node PATH` does everything under another Node. `--relaxed-simd never` uses integer
 * arithmetic. `--json` prints one object on standard output and nothing else there.
 *
 * Times on a shared machine scatter upwards only, so the least of the rounds is what is compared; the ratio of CPU
 * times tells more than that of elapsed times while other work takes the cores away.
 */
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type CircuitId, Engine, type ProofTimings } from 'wgzk'
import { developmentParameters } from '../../examples/support/development-parameters.ts'
import { nodeFlags } from '../../scripts/node-flags.js'
import { type PeerRun, provePeer } from './peer.ts'
import { BENCH_PROOFS } from './requests.ts'

const USAGE = `usage: npm run bench -- [--proof ID] [--rounds N] [--peer PATH] [--relaxed-simd auto|never] [--node PATH]
                       [--no-kernels] [--json]

  --proof ID      ${Object.keys(BENCH_PROOFS).join(', ')} (default: winning-32g)
  --rounds N      proofs, the first included (default: 3)
  --peer PATH     also the reference prover, on the same request and parameters, in turn with ours
  --relaxed-simd  never: integer arithmetic (default: auto)
  --node PATH     under another Node
  --no-kernels    proofs only
  --json          one JSON object`

class UsageError extends Error {}

function parse() {
  const { values } = parseArgs({
    options: {
      proof: { type: 'string', default: 'winning-32g' },
      peer: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      'relaxed-simd': { type: 'string', default: 'auto' },
      node: { type: 'string' },
      kernels: { type: 'boolean', default: true },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
    allowNegative: true,
  })
  const proof = BENCH_PROOFS[values.proof as CircuitId]
  if (proof === undefined) throw new UsageError(`--proof takes one of ${Object.keys(BENCH_PROOFS).join(', ')}`)
  const relaxedSimd = values['relaxed-simd']
  if (relaxedSimd !== 'auto' && relaxedSimd !== 'never') throw new UsageError('--relaxed-simd takes auto or never')
  const rounds = Number(values.rounds)
  if (!/^\d+$/.test(values.rounds) || rounds < 1) throw new UsageError('--rounds takes a number of at least 1')
  return { ...values, circuitId: values.proof as CircuitId, proof, relaxedSimd, rounds } as const
}

type Values = ReturnType<typeof parse>

/** What `--json` prints. */
interface Report {
  readonly proof: CircuitId
  readonly node: string
  readonly cpu: string
  readonly cores: number
  readonly device: string
  readonly createMs: number
  readonly preloadMs: number
  readonly rounds: readonly Round[]
  readonly peakRssBytes: number
  /** Least of ours by least of the peer's. */
  readonly elapsedRatio?: number
  readonly cpuRatio?: number
  /** What test/bench/kernels.ts prints. */
  readonly kernels?: unknown
}

interface Round {
  /** `cpuMs` is of all threads, checks of the request and verification included. */
  readonly ours: ProofTimings & { readonly cpuMs: number }
  readonly peer?: PeerRun
}

async function measure(
  { circuitId, proof, relaxedSimd, rounds: count, peer: peerPath }: Values,
  log: (line: string) => void,
): Promise<Report> {
  const parameterCache = await developmentParameters(circuitId, {
    onProgress: (fraction) =>
      process.stderr.isTTY && process.stderr.write(`\rparameters ${(fraction * 100).toFixed(0)} % `),
  })
  const since = (start: number): number => performance.now() - start

  const atCreate = performance.now()
  await using engine = await Engine.create({
    parameterCache,
    allowDevelopmentParameters: true,
    gpu: { devices: 'cpu' },
    cpu: { relaxedSimd },
  })
  const createMs = since(atCreate)
  const device = engine.status().gpus[0]?.name ?? 'none'
  const atPreload = performance.now()
  await engine.preload(circuitId)
  const preloadMs = since(atPreload)
  log(`${circuitId} on Node ${process.version}, ${device}`)
  log(`create ${createMs.toFixed(0)} ms, preload ${preloadMs.toFixed(0)} ms`)

  const input = proof.request()
  const rounds: Round[] = []
  for (let round = 1; round <= count; round++) {
    const before = process.cpuUsage()
    const { timings } = await engine.prove(input)
    const { user, system } = process.cpuUsage(before)
    const ours = { ...timings, cpuMs: (user + system) / 1000 }
    log(`round ${round}: ours ${phases(ours)}`)
    if (peerPath === undefined) {
      rounds.push({ ours })
      continue
    }
    const peer = await provePeer(peerPath, proof.peerKind, proof.input, join(parameterCache, `dev-${circuitId}.params`))
    log(`         peer ${phases(peer)}`)
    rounds.push({ ours, peer })
  }
  return {
    proof: circuitId,
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    device,
    createMs,
    preloadMs,
    rounds,
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    ...(peerPath !== undefined && {
      elapsedRatio: ratio(rounds, ({ totalMs }) => totalMs),
      cpuRatio: ratio(rounds, ({ cpuMs }) => cpuMs ?? Number.NaN),
    }),
  }
}

/** Least of ours by least of the peer's. */
function ratio(
  rounds: readonly Round[],
  time: (run: { totalMs: number; cpuMs: number | undefined }) => number,
): number {
  const least = (times: readonly number[]): number => Math.min(...times)
  return least(rounds.map(({ ours }) => time(ours))) / least(rounds.flatMap(({ peer }) => (peer ? [time(peer)] : [])))
}

/** In a process of its own, after the engine is closed. */
function kernelRates(): unknown {
  const file = fileURLToPath(new URL('kernels.ts', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [...nodeFlags(), '--import', 'tsx', file], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error('test/bench/kernels.ts failed')
  return JSON.parse(stdout)
}

function phases(times: object): string {
  return Object.entries(times)
    .flatMap(([name, value]) => (name.endsWith('Ms') ? [`${name.slice(0, -2)} ${Number(value).toFixed(0)} ms`] : []))
    .join(', ')
}

function underAnotherNode(node: string): number {
  const version = spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.trim()
  const args = process.argv
    .slice(2)
    .filter((arg, index, all) => arg !== '--node' && all[index - 1] !== '--node' && !arg.startsWith('--node='))
  const { status } = spawnSync(
    node,
    [...nodeFlags(version), '--import', 'tsx', fileURLToPath(import.meta.url), ...args],
    {
      stdio: 'inherit',
    },
  )
  return status ?? 1
}

async function bench(values: Values): Promise<void> {
  const log = values.json ? console.error : console.log
  const proofs = await measure(values, log)
  const report: Report = values.kernels ? { ...proofs, kernels: kernelRates() } : proofs
  const megabytes = (bytes: number | undefined): string =>
    bytes === undefined ? '?' : `${(bytes / 1e6).toFixed(0)} MB`
  log(`peak memory: ours ${megabytes(report.peakRssBytes)}, peer ${megabytes(report.rounds[0]?.peer?.peakRssBytes)}`)
  if (values.peer !== undefined) {
    log(`ours / peer: elapsed ${report.elapsedRatio?.toFixed(2)}, CPU ${report.cpuRatio?.toFixed(2)}`)
  }
  if (report.kernels !== undefined) log(`kernels: ${JSON.stringify(report.kernels, null, 2)}`)
  if (values.json) console.log(JSON.stringify(report, null, 2))
}

try {
  const values = parse()
  if (values.help) console.log(USAGE)
  else if (values.node !== undefined) process.exitCode = underAnotherNode(values.node)
  else await bench(values)
} catch (error) {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (!(error instanceof UsageError) && !code.startsWith('ERR_PARSE_ARGS')) throw error
  console.error(`${message}\n${USAGE}`)
  process.exitCode = 2
}
