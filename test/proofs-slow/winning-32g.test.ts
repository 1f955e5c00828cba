/** WinningPoSt of full size, over a sparse 32 GiB tree. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { verifyProofs } from '../../src/groth16/verify.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import type { SrsFile } from '../../src/params/srs-file.ts'
import { statementOf } from '../../src/request/statement.ts'
import { winning32Request } from '../support/fixtures.ts'
import { makeRecordedParameters, openParameters, sha256 } from '../support/parameters.ts'
import { proveRequest, recordedProof } from '../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { vectorJson } from '../support/vectors.ts'

const shape = circuitShape('winning-32g')
const recorded = recordedProof('32GiB/proof-winning.json')
const directory = temporaryDirectory()
let device: CpuDevice
let source: SrsFile

beforeAll(async () => {
  process.env.XDG_CACHE_HOME = join(directory, 'cache')
  device = await CpuDevice.create({})
  await makeRecordedParameters(device, shape, directory, '32GiB', 'winning')
  source = await openParameters(shape, directory)
}, 300_000)
afterAll(async () => {
  await source?.close()
  await device?.close()
  delete process.env.XDG_CACHE_HOME
  removeDirectory(directory)
})

describe('WinningPoSt 32 GiB', () => {
  it('the set-up with the reference secrets gives the reference files, byte for byte', async () => {
    const { paramsFile, vkFile } = developmentFileNames('winning-32g')
    const { params, vk } = vectorJson('32GiB/params.json').winning
    expect(await sha256(join(directory, paramsFile))).toBe(params.sha256)
    expect(await sha256(join(directory, vkFile))).toBe(vk.sha256)
  })

  it('with the reference blinding the proof is the reference proof, byte for byte', async () => {
    const proof = await proveRequest(device, shape, source, winning32Request(), { blindings: recorded.blindings })
    expect(Buffer.from(proof).toString('hex')).toBe(Buffer.from(recorded.proof).toString('hex'))
  }, 300_000)

  it('takes of the host’s memory what the budget reserves for it, within a fifth', () => {
    const args = ['scripts/run.js', 'test/bench/memory.ts', '--proof', 'winning-32g', '--json']
    const { stdout, stderr, status } = spawnSync(process.execPath, args, {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: { ...process.env, EXAMPLE_PARAMETERS: directory },
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, ''])
    const { phases } = JSON.parse(stdout) as { phases: { phase: string; ratio: number }[] }
    const { ratio = 0 } = phases.find(({ phase }) => phase === 'gpu') ?? {}
    expect(ratio).toBeGreaterThan(0.8)
    expect(ratio).toBeLessThan(1.2)
  }, 300_000)

  it('with random blinding it verifies', async () => {
    const proof = await proveRequest(device, shape, source, winning32Request())
    const { publicInputs } = statementOf(winning32Request())
    expect(verifyProofs(source.key, publicInputs, proof)).toBe(true)
  }, 300_000)
})
