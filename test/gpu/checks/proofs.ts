/**
 * Whole proofs of real sectors with the reference's parameters and blinding: the bytes are the reference's. On hardware
 * the device makes the parameters too (a software adapter would take minutes for them), and their digest is compared.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { CircuitId } from '../../../src/circuit/circuit-id.ts'
import { circuitShape } from '../../../src/circuit/circuit-shape.ts'
import { CpuDevice } from '../../../src/cpu/cpu-device.ts'
import { developmentFileNames } from '../../../src/params/published.ts'
import type { ProofRequest } from '../../../src/request/proof-request.ts'
import { WebGpuDevice } from '../../../src/webgpu/webgpu-device.ts'
import { leastGpuBytes } from '../../../src/webgpu/working-set.ts'
import { snapRequest, windowRequest, winning32Request, winningRequest } from '../../support/fixtures.ts'
import { makeRecordedParameters, openParameters, sha256 } from '../../support/parameters.ts'
import { porepRequest } from '../../support/porep.ts'
import { proveRequest, recordedProof } from '../../support/prove.ts'
import { removeDirectory, temporaryDirectory } from '../../support/temporary-directory.ts'
import { vectorJson } from '../../support/vectors.ts'
import { type Check, withDevice, withShards } from '../harness.ts'

/** Bytes that may come back from the device for one proof: sums and counters, never an assignment. */
const MOST_DOWNLOADED = 1_000_000
/** The same where bindings or memory are so small that a query takes many sums. */
const MOST_DOWNLOADED_OF_MANY = 10_000_000
const SMALL_BINDING_BYTES = 2 ** 20

const proof =
  (
    circuitId: CircuitId,
    folder: '2KiB' | '32GiB',
    name: string,
    file: string,
    request: () => ProofRequest,
    keep = false,
  ): Check =>
  async (gpu) => {
    const shape = circuitShape(circuitId)
    const recorded = recordedProof(file)
    const directory = temporaryDirectory()
    const device = new WebGpuDevice(gpu)
    const limited = gpu.memoryBytes < Number.POSITIVE_INFINITY
    try {
      if (gpu.info.software) {
        const cpu = await CpuDevice.create({})
        await makeRecordedParameters(cpu, shape, directory, folder, name).finally(() => cpu.close())
      } else if (limited) {
        // A set-up takes more memory than a proof.
        await withDevice(gpu, {}, (other) =>
          makeRecordedParameters(new WebGpuDevice(other), shape, directory, folder, name),
        )
      } else {
        await makeRecordedParameters(device, shape, directory, folder, name)
      }
      const { params } = vectorJson(`${folder}/params.json`)[name]
      assert.equal(
        await sha256(join(directory, developmentFileNames(circuitId).paramsFile)),
        params.sha256,
        'parameters',
      )
      const source = await openParameters(shape, directory)
      try {
        const used = gpu.usedBytes
        const [up, down] = [gpu.uploadedBytes, gpu.downloadedBytes]
        const start = performance.now()
        const { blindings } = recorded
        const rangePoints = limited ? device.planMemory(shape, 0).rangePoints : undefined
        const bytes = await proveRequest(device, shape, source, request(), { blindings, keep, rangePoints })
        const ms = performance.now() - start
        assert.equal(Buffer.from(bytes).toString('hex'), Buffer.from(recorded.proof).toString('hex'))
        assert.equal(gpu.usedBytes, used, 'every buffer is released')
        const many = limited || gpu.bindingBytes <= SMALL_BINDING_BYTES
        const most = many ? MOST_DOWNLOADED_OF_MANY : MOST_DOWNLOADED
        assert(gpu.downloadedBytes - down < most, `${gpu.downloadedBytes - down} bytes came back`)
        console.log(
          `    ${circuitId}: ${ms.toFixed(0)} ms, ${gpu.uploadedBytes - up} bytes up, ${gpu.downloadedBytes - down} down`,
        )
      } finally {
        await source.close()
      }
    } finally {
      removeDirectory(directory)
    }
  }

/**
 * The check on a device that may allocate no more than a partition of the circuit needs, points streamed in short
 * ranges.
 */
const inLeastMemory =
  (circuitId: CircuitId, check: Check): Check =>
  async (gpu) => {
    const bindingBytes = Math.min(gpu.bindingBytes, 2 ** 27)
    const { inputs, aux, log2Domain, density, root } = circuitShape(circuitId)
    const { bits, wide } = root.totals
    const memoryBytes = leastGpuBytes({ inputs, aux, log2Domain, density, bits, wide }, bindingBytes)
    await withDevice(gpu, { bindingBytes, memoryBytes }, async (small) => {
      await check(small)
      console.log(`    ${small.peakBytes} bytes of ${memoryBytes} at most`)
    })
  }

const WINDOW_2K = ['wpost-2k', '2KiB', 'window', '2KiB/a/proof-window.json', windowRequest] as const
const window2k = proof(...WINDOW_2K)
const winning2k = proof('winning-2k', '2KiB', 'winning', '2KiB/a/proof-winning.json', winningRequest)

export const proofChecks: Record<string, Check> = {
  // Range by range, then all queries at once.
  'proof of wpost-2k': proof(...WINDOW_2K, true),
}

/** Too long for a software adapter within `npm test`. */
export const longProofChecks: Record<string, Check> = {
  // Domains of 2^15 and 2^17 over four shards; assignments over three.
  'proof of wpost-2k over shards': withShards(13, window2k),
  'proof of winning-2k over shards': withShards(15, winning2k),
  'proof of wpost-2k in the least memory': inLeastMemory('wpost-2k', window2k),
  'proof of winning-2k': winning2k,
  'proof of winning-32g': proof('winning-32g', '32GiB', 'winning', '32GiB/proof-winning.json', winning32Request, true),
}

const porep2k = proof('porep-2k', '2KiB', 'porep', '2KiB/a/proof-porep.json', porepRequest)
const snap2k = proof('snap-2k', '2KiB', 'update', '2KiB/a/proof-update.json', snapRequest)

/** Circuits of millions of rows: for hardware. */
export const sealProofChecks: Record<string, Check> = {
  'proof of snap-2k': snap2k,
  'proof of porep-2k': porep2k,
  'proof of porep-2k in the least memory': inLeastMemory('porep-2k', porep2k),
  'proof of snap-2k over shards': withShards(20, snap2k),
  'proof of porep-2k over shards': withShards(20, porep2k),
}
