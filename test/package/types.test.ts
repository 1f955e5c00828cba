/** The declarations of `dist/` as a user's strict project sees them: no DOM library, library checks on. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '')
let folder = ''

/** Compiles one file of a project that has this package installed. @returns tsc's complaints */
function compile(source: string, options: Record<string, unknown> = {}): string {
  writeFileSync(join(folder, 'user.ts'), source)
  const compilerOptions = {
    target: 'ES2022',
    lib: ['ES2022', 'ESNext.Disposable'],
    module: 'NodeNext',
    strict: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: ['node'],
    ...options,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['user.ts'] }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  return spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' }).stdout
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'wgzk-types-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
  symlinkSync(root, join(folder, 'node_modules/wgzk'))
  symlinkSync(join(root, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const USER = `
import { Engine, ProverError, verifyProof, statementOf, developmentSetup } from 'wgzk'
import type { CircuitId, EngineOptions, EngineStatus, Logger, ProofRequest, ProofResult, WindowPostRequest } from 'wgzk'

const options: EngineOptions = { memory: { totalBytes: 2 ** 33 }, gpu: { devices: 'cpu' }, logger: undefined }
const request: WindowPostRequest = {
  kind: 'window-post',
  registeredProof: 'StackedDrgWindow2KiBV1_1',
  partitionIndex: 0,
  minerId: 1000n,
  randomness: new Uint8Array(32),
  vanillaProofs: [],
}

export async function prove(signal: AbortSignal): Promise<Uint8Array> {
  await using engine = await Engine.create({ ...options, signal })
  engine.on('progress', ({ job, fraction }) => console.log(job.id, fraction.toFixed(2)))
  const id: CircuitId = 'wpost-2k'
  await engine.preload(id, { signal })
  const result: ProofResult<'window-post'> = await engine.prove(request, { signal, onProgress: (p) => p.remainingMs })
  const status: EngineStatus = engine.status()
  console.log(status.queue.active)
  const ok: boolean = await verifyProof(statementOf(request satisfies ProofRequest), result.proof)
  await developmentSetup(id, { onProgress: (fraction: number) => fraction })
  return ok ? result.proof : new Uint8Array()
}

export function isRetryable(error: unknown): boolean {
  return ProverError.is(error) && error.code !== 'ERR_ENGINE_CLOSED' && error.retryable
}
export type L = Logger
`

it('compiles in a strict NodeNext project without the DOM library', () => {
  expect(compile(USER)).toBe('')
})

it('compiles beside the DOM library too', () => {
  expect(compile(USER, { lib: ['ES2022', 'ESNext.Disposable', 'DOM'], exactOptionalPropertyTypes: false })).toBe('')
})

it('rejects a request of the wrong form', () => {
  expect(compile(USER.replace("'StackedDrgWindow2KiBV1_1'", "'StackedDrgWinning2KiBV1'"))).toMatch(
    /user\.ts\(8,3\): error TS/,
  )
  expect(compile(USER.replace('1000n', '1000'))).toMatch(/user\.ts\(10,3\): error TS2322/)
})
