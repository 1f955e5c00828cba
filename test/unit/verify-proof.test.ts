import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { makeMarker } from '../../src/params/development-marker.ts'
import { bytesDigest } from '../../src/params/digest.ts'
import { developmentFileNames } from '../../src/params/published.ts'
import type { ProofStatement } from '../../src/request/proof-request.ts'
import { verifyProof } from '../../src/verify-proof.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { proofVector, vectorFile } from '../support/vectors.ts'

const directory = temporaryDirectory()
const options = { parameterCache: directory, allowDevelopmentParameters: true }
const { proof, publicInputs } = proofVector('2KiB/a', 'window-3', 'window-2KiB')
const statement: ProofStatement = {
  kind: 'window-post',
  circuitId: 'wpost-2k',
  publicInputs: publicInputs.map((inputs) => [...inputs]),
}

/** Lays a recorded key down as a development key, without parameters: a machine that only verifies has none. */
function layDown(circuitId: CircuitId, vector: string): void {
  const names = developmentFileNames(circuitId)
  const vk = vectorFile(vector)
  const marker = makeMarker({
    circuit_id: circuitId,
    circuit_fingerprint: '0'.repeat(64),
    params_bytes: 0,
    params_digest: '0'.repeat(32),
    vk_digest: bytesDigest(vk),
    created: new Date(0).toISOString(),
  })
  writeFileSync(join(directory, names.vkFile), vk)
  writeFileSync(join(directory, names.markerFile), JSON.stringify(marker))
}

beforeAll(() => layDown('wpost-2k', '2KiB/window-2KiB.vk'))
afterAll(() => removeDirectory(directory))

describe('verifyProof', () => {
  it('accepts what was proven and nothing else', async () => {
    expect(await verifyProof(statement, proof, options)).toBe(true)
    const swapped = { ...statement, publicInputs: [...statement.publicInputs].reverse() }
    expect(await verifyProof(swapped, proof, options)).toBe(false)
    expect(await verifyProof(statement, proof.subarray(0, 192), options)).toBe(false)
    expect(await verifyProof(statement, new Uint8Array(384), options)).toBe(false)
  })

  it('uses a development key only if told so, and says when there is none', async () => {
    await expect(verifyProof(statement, proof, { parameterCache: directory })).rejects.toMatchObject({
      code: 'ERR_DEVELOPMENT_PARAMETERS',
    })
    await expect(verifyProof({ ...statement, circuitId: 'wpost-8m' }, proof, options)).rejects.toMatchObject({
      code: 'ERR_SRS_UNAVAILABLE',
    })
  })

  it('a damaged key is an error, also when a good one was in use before', async () => {
    expect(await verifyProof(statement, proof, options)).toBe(true)
    const { vkFile } = developmentFileNames('winning-2k')
    layDown('winning-2k', '2KiB/winning-2KiB.vk')
    copyFileSync(join(directory, developmentFileNames('wpost-2k').vkFile), join(directory, vkFile))
    await expect(verifyProof({ ...statement, circuitId: 'winning-2k' }, proof, options)).rejects.toMatchObject({
      code: 'ERR_SRS_UNAVAILABLE',
      details: { file: join(directory, vkFile) },
    })
  })

  it('refuses options that it does not know or can not use', async () => {
    const bad = [null, 5, { parameterCashe: directory }, { signal: {} }, { allowDevelopmentParameters: 'yes' }]
    for (const changed of bad) {
      await expect(verifyProof(statement, proof, changed as never)).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTIONS',
      })
    }
  })

  it('refuses malformed arguments by name', async () => {
    const refused = (changed: unknown, field: string) =>
      expect(verifyProof(changed as ProofStatement, proof, options)).rejects.toMatchObject({
        code: 'ERR_INVALID_REQUEST',
        details: { field },
      })
    await refused({ ...statement, circuitId: 'wpost-1k' }, 'circuitId')
    await refused({ ...statement, circuitId: Object.create(null) }, 'circuitId')
    await refused({ ...statement, publicInputs: 5 }, 'publicInputs')
    await refused({ ...statement, publicInputs: [] }, 'publicInputs')
    await refused({ ...statement, publicInputs: [statement.publicInputs[0], 'x'] }, 'publicInputs[1]')
    await refused({ ...statement, publicInputs: [['00'], statement.publicInputs[1]] }, 'publicInputs[0][0]')
    await refused({ ...statement, publicInputs: [[], []] }, 'publicInputs[0]')
    await expect(verifyProof(statement, 'hex' as never, options)).rejects.toMatchObject({ details: { field: 'proof' } })
  })

  it('aborts with the reason of its signal', async () => {
    const signal = AbortSignal.abort(new Error('too late'))
    await expect(verifyProof(statement, proof, { ...options, signal })).rejects.toThrow('too late')
  })

  it('obeys an abort while the key is read', async () => {
    const abort = new AbortController()
    const checking = verifyProof(statement, proof, { ...options, signal: abort.signal })
    abort.abort('enough')
    await expect(checking).rejects.toBe('enough')
  })
})
