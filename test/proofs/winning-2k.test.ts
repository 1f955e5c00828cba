/** WinningPoSt of a really sealed 2 KiB sector. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { prepareVerifyingKey, verifyProofs } from '../../src/groth16/verify.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import type { SrsFile } from '../../src/params/srs-file.ts'
import { statementOf } from '../../src/request/statement.ts'
import { winningRequest } from '../support/fixtures.ts'
import { makeRecordedParameters, openParameters, sha256 } from '../support/parameters.ts'
import { idle, proveRequest, recordedProof } from '../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { vectorJson } from '../support/vectors.ts'

// Seconds on an idle machine, minutes on one that does ten other things.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const shape = circuitShape('winning-2k')
const recorded = recordedProof('2KiB/a/proof-winning.json')
const directory = temporaryDirectory()
let device: CpuDevice
let source: SrsFile

beforeAll(async () => {
  process.env.XDG_CACHE_HOME = join(directory, 'cache')
  device = await CpuDevice.create({})
  await makeRecordedParameters(device, shape, directory, '2KiB', 'winning')
  source = await openParameters(shape, directory)
})
afterAll(async () => {
  await source?.close()
  await device?.close()
  delete process.env.XDG_CACHE_HOME
  removeDirectory(directory)
})

describe('WinningPoSt 2 KiB', () => {
  it('the set-up with the reference secrets gives the reference files, byte for byte', async () => {
    const { paramsFile, vkFile } = developmentFileNames('winning-2k')
    const { params, vk } = vectorJson('2KiB/params.json').winning
    expect(await sha256(join(directory, paramsFile))).toBe(params.sha256)
    expect(await sha256(join(directory, vkFile))).toBe(vk.sha256)
  })

  it('with the reference blinding the proof is the reference proof, byte for byte', async () => {
    const proof = await proveRequest(device, shape, source, winningRequest(), { blindings: recorded.blindings })
    expect(Buffer.from(proof).toString('hex')).toBe(Buffer.from(recorded.proof).toString('hex'))
  })

  it('with random blinding it verifies', async () => {
    const proof = await proveRequest(device, shape, source, winningRequest())
    const { publicInputs } = statementOf(winningRequest())
    expect(verifyProofs(prepareVerifyingKey(source.key), publicInputs, proof)).toBe(true)
  })

  it('aborts in the middle, and proves again afterwards', async () => {
    const controller = new AbortController()
    const reason = new Error('another block was found')
    const run = {
      signal: controller.signal,
      unit: (share: number): void => {
        if (share > 0.4) controller.abort(reason)
      },
    }
    await expect(proveRequest(device, shape, source, winningRequest(), { run })).rejects.toBe(reason)
    const { blindings } = recorded
    const proof = await proveRequest(device, shape, source, winningRequest(), { blindings, run: idle })
    expect(Buffer.from(proof).equals(Buffer.from(recorded.proof))).toBe(true)
  })
})
