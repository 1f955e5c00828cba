/** WindowPoSt of really sealed 2 KiB sectors, from vanilla proofs to bytes, on both arithmetics of the CPU device. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { prepareVerifyingKey, verifyProofs } from '../../src/groth16/verify.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import type { SrsFile } from '../../src/params/srs-file.ts'
import { statementOf } from '../../src/request/statement.ts'
import { window3Request, windowRequest } from '../support/fixtures.ts'
import { makeRecordedParameters, openParameters, sha256 } from '../support/parameters.ts'
import { idle, proveRequest, recordedProof } from '../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { vectorFile, vectorJson } from '../support/vectors.ts'

// Seconds on an idle machine, minutes on one that does ten other things.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const shape = circuitShape('wpost-2k')
const one = recordedProof('2KiB/a/proof-window.json')
const two = recordedProof('2KiB/a/proof-window-3.json')

describe.each(['fma', 'integer'] as const)('WindowPoSt 2 KiB on the %s arithmetic', (backend) => {
  const directory = temporaryDirectory()
  let device: CpuDevice
  let source: SrsFile

  beforeAll(async () => {
    process.env.XDG_CACHE_HOME = join(directory, 'cache')
    device = await CpuDevice.create({ backend })
    await makeRecordedParameters(device, shape, directory, '2KiB', 'window')
    source = await openParameters(shape, directory)
  })
  afterAll(async () => {
    await source?.close()
    await device?.close()
    delete process.env.XDG_CACHE_HOME
    removeDirectory(directory)
  })

  it('the set-up with the reference secrets gives the reference files, byte for byte', async () => {
    const { paramsFile, vkFile } = developmentFileNames('wpost-2k')
    const { params, vk } = vectorJson('2KiB/params.json').window
    expect(await sha256(join(directory, paramsFile))).toBe(params.sha256)
    expect(await sha256(join(directory, vkFile))).toBe(vk.sha256)
    expect(Buffer.from(source.key.ic)).toEqual(Buffer.from(vectorFile('2KiB/window-2KiB.vk').subarray(868)))
  })

  it('with the reference blinding the proof is the reference proof, byte for byte', async () => {
    const proof = await proveRequest(device, shape, source, windowRequest(), { blindings: one.blindings })
    expect(Buffer.from(proof).toString('hex')).toBe(Buffer.from(one.proof).toString('hex'))
  })

  // The rest does not depend on the arithmetic, and takes six more proofs.
  if (backend === 'integer') return

  it('a batch of two partitions equals two batches of one, and both the reference', async () => {
    for (const together of [true, false]) {
      const proof = await proveRequest(device, shape, source, window3Request(), { blindings: two.blindings, together })
      expect(Buffer.from(proof).toString('hex')).toBe(Buffer.from(two.proof).toString('hex'))
    }
  })

  it('with random blinding it verifies, for its own statement only, with rising progress', async () => {
    const shares: number[] = []
    const run = { signal: idle.signal, unit: (share: number) => void shares.push(share) }
    const proof = await proveRequest(device, shape, source, window3Request(), { run })
    const key = prepareVerifyingKey(source.key)
    const { publicInputs } = statementOf(window3Request())
    expect(verifyProofs(key, publicInputs, proof)).toBe(true)
    expect(verifyProofs(key, [...publicInputs].reverse(), proof)).toBe(false)
    expect(Buffer.from(proof).equals(Buffer.from(two.proof))).toBe(false)
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBeCloseTo(1, 10)
    expect(shares.length).toBeGreaterThan(20)
  })
})
