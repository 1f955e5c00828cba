/** WindowPoSt of really sealed 2 KiB sectors, from vanilla proofs to bytes, on both arithmetics of the CPU device. */
import { describe, expect, it } from 'vitest'
import { verifyProofs } from '../../src/groth16/verify.ts'
import { statementOf } from '../../src/request/statement.ts'
import { window3Request, windowRequest } from '../support/fixtures.ts'
import { idle, proveRequest, recordedProof } from '../support/prove.ts'
import { testRecordedCircuit } from '../support/recorded-circuit.ts'
import { vectorFile } from '../support/vectors.ts'

const two = recordedProof('2KiB/a/proof-window-3.json')

describe.each(['fma', 'integer'] as const)('WindowPoSt 2 KiB on the %s arithmetic', (backend) => {
  const tools = testRecordedCircuit({
    circuitId: 'wpost-2k',
    name: 'window',
    request: windowRequest,
    timeoutMs: 300_000,
    backend,
  })

  it('the parsed key has the points of the reference file', () => {
    expect(Buffer.from(tools.source.key.ic)).toEqual(Buffer.from(vectorFile('2KiB/window-2KiB.vk').subarray(868)))
  })

  // The rest does not depend on the arithmetic, and takes six more proofs.
  if (backend === 'integer') return

  it('a batch of two partitions equals two batches of one, and both the reference', async () => {
    const { device, shape, source } = tools
    for (const together of [true, false]) {
      const proof = await proveRequest(device, shape, source, window3Request(), { blindings: two.blindings, together })
      expect(Buffer.from(proof).toString('hex')).toBe(Buffer.from(two.proof).toString('hex'))
    }
  })

  it('with random blinding it verifies, for its own statement only, with rising progress', async () => {
    const { device, shape, source } = tools
    const shares: number[] = []
    const run = { signal: idle.signal, unit: (share: number) => void shares.push(share) }
    const proof = await proveRequest(device, shape, source, window3Request(), { run })
    const key = source.key
    const { publicInputs } = statementOf(window3Request())
    expect(verifyProofs(key, publicInputs, proof)).toBe(true)
    expect(verifyProofs(key, [...publicInputs].reverse(), proof)).toBe(false)
    expect(Buffer.from(proof).equals(Buffer.from(two.proof))).toBe(false)
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBeCloseTo(1, 10)
    expect(shares.length).toBeGreaterThan(20)
  })
})
