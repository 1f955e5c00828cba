/** The way of a whole sector's proof through the engine, as an example makes it. */
import { expect, it } from 'vitest'
import { verifyProofs } from '../../src/groth16/verify.ts'
import { statementOf } from '../../src/request/statement.ts'
import { proofOfExample } from './example-proof.ts'
import { type RecordedCircuit, testRecordedCircuit } from './recorded-circuit.ts'

/** {@link testRecordedCircuit}, and the same through the engine: one set-up serves all. */
export function testSectorProof(circuit: RecordedCircuit, example: string): void {
  const tools = testRecordedCircuit(circuit)

  it('through the engine, in a process that ends by itself, it verifies for its own statement only', async () => {
    const proof = await proofOfExample(example, tools.directory)
    const key = tools.source.key
    const { publicInputs } = statementOf(circuit.request())
    expect(verifyProofs(key, publicInputs, proof)).toBe(true)
    expect(Buffer.from(proof).equals(Buffer.from(tools.recorded.proof))).toBe(false)
    const others = publicInputs.map((inputs) => [...inputs].reverse())
    expect(verifyProofs(key, others, proof)).toBe(false)
  })
}
