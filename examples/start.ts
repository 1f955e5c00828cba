/**
 * `npm start`: two real proofs on this machine, from nothing but this repository.
 *
 * Makes development parameters once, proves a WindowPoSt of two really sealed 2 KiB sectors and a WinningPoSt of a 32
 * GiB sector, and verifies both as the chain would. Ctrl-C stops it between two units of work.
 */
import { readFileSync } from 'node:fs'
import {
  Engine,
  type ProofRequest,
  ProverError,
  verifyProof,
  type WindowPostRequest,
  type WinningPostRequest,
} from 'wgzk'
import { developmentParameters, haveDevelopmentParameters } from './support/development-parameters.ts'
import { progressBar } from './support/progress-bar.ts'

/** The public data that lies beside the vanilla proofs. */
interface RequestFile {
  readonly miner_id: string
  /** 32 bytes, hex */
  readonly randomness: string
  readonly sectors: readonly { readonly sector_id: string; readonly comm_r: string; readonly vanilla: string }[]
}

function readRequest(folder: string): Omit<WindowPostRequest, 'kind' | 'registeredProof' | 'partitionIndex'> {
  const base = new URL(`data/${folder}/`, import.meta.url)
  const file: RequestFile = JSON.parse(readFileSync(new URL('request.json', base), 'utf8'))
  return {
    minerId: BigInt(file.miner_id),
    randomness: Buffer.from(file.randomness, 'hex'),
    sectors: file.sectors.map((sector) => ({
      sectorNumber: BigInt(sector.sector_id),
      commR: Buffer.from(sector.comm_r, 'hex'),
    })),
    vanillaProofs: file.sectors.map(({ vanilla }) => readFileSync(new URL(vanilla, base))),
  }
}

const windowPost: WindowPostRequest = {
  ...readRequest('window-2k'),
  kind: 'window-post',
  registeredProof: 'StackedDrgWindow2KiBV1_1',
  partitionIndex: 0,
}
const winningPost: WinningPostRequest = {
  ...readRequest('winning-32g'),
  kind: 'winning-post',
  registeredProof: 'StackedDrgWinning32GiBV1',
}

const interrupt = new AbortController()
process.once('SIGINT', () => {
  console.error('\nStopping … (Ctrl-C again to kill)')
  interrupt.abort(new Error('interrupted'))
})

async function main(signal: AbortSignal): Promise<void> {
  const start = performance.now()
  const circuits = ['wpost-2k', 'winning-32g'] as const
  if (!circuits.every(haveDevelopmentParameters)) {
    console.log(
      'Making development parameters, once. Their secrets were known to this process: never use them on a real network.',
    )
  }
  let parameterCache = ''
  for (const circuitId of circuits) {
    const made = haveDevelopmentParameters(circuitId)
    const bar = made ? undefined : progressBar(`parameters of ${circuitId}`)
    parameterCache = await developmentParameters(circuitId, { signal, onProgress: (fraction) => bar?.update(fraction) })
    bar?.done()
  }

  await using engine = await Engine.create({ parameterCache, allowDevelopmentParameters: true, signal })
  const { gpus, gpuUnavailable } = engine.status()
  console.log(
    `Device: ${gpus.map(({ name }) => name).join(', ')}${gpuUnavailable ? ` (no GPU is used: ${gpuUnavailable})` : ''}`,
  )

  for (const [name, request] of [
    ['WindowPoSt, 2 sectors of 2 KiB', windowPost],
    ['WinningPoSt, 32 GiB', winningPost],
  ] satisfies [string, ProofRequest][]) {
    const bar = progressBar(name)
    const { proof, timings } = await engine.prove(request, {
      signal,
      onProgress: ({ fraction }) => bar.update(fraction),
    })
    bar.done()
    const valid = await verifyProof(request, proof, { parameterCache, allowDevelopmentParameters: true, signal })
    if (!valid) throw new Error(`the proof of ${name} does not verify`)
    const ms = (value: number): string => `${value.toFixed(0)} ms`
    console.log(
      `    valid; ${proof.length} bytes ${Buffer.from(proof).toString('hex').slice(0, 32)}…; parameters ${ms(timings.srsLoadMs)}, ` +
        `witness ${ms(timings.synthesisMs)}, device ${ms(timings.gpuMs)}, verification ${ms(timings.verifyMs)}`,
    )
  }
  console.log(`Done in ${((performance.now() - start) / 1000).toFixed(1)} s.`)
}

try {
  await main(interrupt.signal)
} catch (error) {
  if (interrupt.signal.aborted) {
    console.error('Interrupted.')
    process.exitCode = 130
  } else {
    console.error(ProverError.is(error) ? `\n${error.code}: ${error.message}` : error)
    if (ProverError.is(error)) console.error('docs/errors.md says what each code means and what to do.')
    process.exitCode = 1
  }
}
