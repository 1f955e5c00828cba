/** What every kind of proof is measured by: a set-up and a proof that equal the reference prover's, byte for byte. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import type { CircuitShape } from '../../src/circuit/shape.ts'
import { CpuDevice } from '../../src/cpu/cpu-device.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import type { SrsFile } from '../../src/params/srs-file.ts'
import type { ProofRequest } from '../../src/request/proof-request.ts'
import { makeRecordedParameters, openParameters, sha256 } from './parameters.ts'
import { proveRequest, recordedProof } from './prove.ts'
import { removeDirectory, temporaryDirectory } from './temporary-directory.ts'
import { vectorJson } from './vectors.ts'

export interface RecordedCircuit {
  readonly circuitId: CircuitId
  /** Its name in the vectors' `params.json`, and in the names of proofs there. */
  readonly name: 'window' | 'winning' | 'porep' | 'update'
  readonly request: () => ProofRequest
  /** Seconds on an idle machine, minutes on one that does ten other things. */
  readonly timeoutMs: number
  /** Arithmetic of the CPU device. @default the faster one */
  readonly backend?: 'fma' | 'integer' | undefined
}

export interface RecordedTools {
  readonly shape: CircuitShape
  readonly recorded: ReturnType<typeof recordedProof>
  /** Of the parameters. */
  readonly directory: string
  /** From the first test on. */
  readonly device: CpuDevice
  readonly source: SrsFile
}

/**
 * Makes the parameters of a circuit of 2 KiB sectors with the reference prover's secrets, once for all tests of a file,
 * and tests that they and a proof of the recorded sector are the reference prover's. To be called inside a `describe`,
 * before its other tests.
 */
export function testRecordedCircuit({ circuitId, name, request, timeoutMs, backend }: RecordedCircuit): RecordedTools {
  vi.setConfig({ testTimeout: timeoutMs, hookTimeout: timeoutMs })
  const shape = circuitShape(circuitId)
  const recorded = recordedProof(`2KiB/a/proof-${name}.json`)
  const directory = temporaryDirectory()
  let device: CpuDevice | undefined
  let source: SrsFile | undefined
  const tools: RecordedTools = {
    shape,
    recorded,
    directory,
    get device() {
      return device as CpuDevice
    },
    get source() {
      return source as SrsFile
    },
  }

  beforeAll(async () => {
    process.env.XDG_CACHE_HOME = join(directory, 'cache')
    device = await CpuDevice.create({ backend })
    await makeRecordedParameters(device, shape, directory, '2KiB', name)
    source = await openParameters(shape, directory)
  })
  afterAll(async () => {
    await source?.close()
    await device?.close()
    delete process.env.XDG_CACHE_HOME
    removeDirectory(directory)
  })

  it('the set-up with the reference secrets gives the reference files, byte for byte', async () => {
    const { paramsFile, vkFile } = developmentFileNames(circuitId)
    const { params, vk } = vectorJson('2KiB/params.json')[name]
    expect(await sha256(join(directory, paramsFile))).toBe(params.sha256)
    expect(await sha256(join(directory, vkFile))).toBe(vk.sha256)
  })

  it('with the reference blinding the proof is the reference proof, byte for byte', async () => {
    const { blindings } = recorded
    const proof = await proveRequest(tools.device, shape, tools.source, request(), { blindings })
    expect(Buffer.from(proof).toString('hex')).toBe(Buffer.from(recorded.proof).toString('hex'))
    expect(tools.device.memoryBytes).toBeLessThan(2e9)
  })

  return tools
}
