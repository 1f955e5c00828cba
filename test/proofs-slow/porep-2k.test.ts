/** PoRep of a really sealed 2 KiB sector: 2.7 million constraints, nearly all of SHA-256. One set-up serves all tests; the example is the way through the engine. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { prepareVerifyingKey, verifyProofs } from '../../src/groth16/verify.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import type { SrsFile } from '../../src/params/srs-file.ts'
import { statementOf } from '../../src/request/statement.ts'
import { proofOfExample } from '../support/example-proof.ts'
import { makeRecordedParameters, openParameters, sha256 } from '../support/parameters.ts'
import { porepRequest } from '../support/porep.ts'
import { proveRequest, recordedProof } from '../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { vectorJson } from '../support/vectors.ts'

// A minute or two on an idle machine, the set-up the longest; many on one that does ten other things.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const shape = circuitShape('porep-2k')
const recorded = recordedProof('2KiB/a/proof-porep.json')
const directory = temporaryDirectory()
let device: CpuDevice
let source: SrsFile

beforeAll(async () => {
  process.env.XDG_CACHE_HOME = join(directory, 'cache')
  device = await CpuDevice.create({})
  await makeRecordedParameters(device, shape, directory, '2KiB', 'porep')
  source = await openParameters(shape, directory)
})
afterAll(async () => {
  await source?.close()
  await device?.close()
  delete process.env.XDG_CACHE_HOME
  removeDirectory(directory)
})

describe('PoRep 2 KiB', () => {
  it('the set-up with the reference secrets gives the reference files, byte for byte', async () => {
    const { paramsFile, vkFile } = developmentFileNames('porep-2k')
    const { params, vk } = vectorJson('2KiB/params.json').porep
    expect(await sha256(join(directory, paramsFile))).toBe(params.sha256)
    expect(await sha256(join(directory, vkFile))).toBe(vk.sha256)
  })

  it('with the reference blinding the proof is the reference proof, byte for byte', async () => {
    const proof = await proveRequest(device, shape, source, porepRequest(), { blindings: recorded.blindings })
    expect(Buffer.from(proof).toString('hex')).toBe(Buffer.from(recorded.proof).toString('hex'))
    expect(device.memoryBytes).toBeLessThan(2e9)
  })

  it('through the engine, in a process that ends by itself, it verifies for its own statement only', async () => {
    const proof = await proofOfExample('prove-porep.ts', directory)
    const key = prepareVerifyingKey(source.key)
    const { publicInputs } = statementOf(porepRequest())
    expect(verifyProofs(key, publicInputs, proof)).toBe(true)
    expect(Buffer.from(proof).equals(Buffer.from(recorded.proof))).toBe(false)
    const others = publicInputs.map((inputs) => [...inputs].reverse())
    expect(verifyProofs(key, others, proof)).toBe(false)
  })
})
