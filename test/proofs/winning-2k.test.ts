/** WinningPoSt of a really sealed 2 KiB sector. */
import { describe, expect, it } from 'vitest'
import { verifyProofs } from '../../src/groth16/verify.ts'
import { statementOf } from '../../src/request/statement.ts'
import { winningRequest } from '../support/fixtures.ts'
import { proveRequest } from '../support/prove.ts'
import { testRecordedCircuit } from '../support/recorded-circuit.ts'

describe('WinningPoSt 2 KiB', () => {
  const tools = testRecordedCircuit({
    circuitId: 'winning-2k',
    name: 'winning',
    request: winningRequest,
    timeoutMs: 300_000,
  })

  it('with random blinding it verifies', async () => {
    const { device, shape, source } = tools
    const proof = await proveRequest(device, shape, source, winningRequest())
    const { publicInputs } = statementOf(winningRequest())
    expect(verifyProofs(source.key, publicInputs, proof)).toBe(true)
  })

  it('aborts in the middle, and proves again afterwards', async () => {
    const { device, shape, source, recorded } = tools
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
    const proof = await proveRequest(device, shape, source, winningRequest(), { blindings })
    expect(Buffer.from(proof).equals(Buffer.from(recorded.proof))).toBe(true)
  })
})
