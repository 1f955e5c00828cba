/** Which files are needed, and which of a folder are not. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CircuitId } from '../../src/circuit/circuit-id.ts'
import { silentLogger } from '../../src/logger.ts'
import { requiredFiles } from '../../src/params/published.ts'
import { locateParameters } from '../../src/srs/locate-parameters.ts'
import { unknownParameterFiles } from '../../src/srs/parameter-folder.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { delay, FakeMachine } from '../support/fake-device.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

let directory: string
beforeEach(() => {
  directory = temporaryDirectory()
})
afterEach(() => removeDirectory(directory))

describe('case 43: files of a folder', () => {
  test('requiredFiles lists name, size and digest of what circuits need, and the engine finds those', async () => {
    const files = requiredFiles(['winning-32g', 'snap-2k'])
    // From `parameters.json` of filecoin-proofs 19.1, and the lengths of the files there.
    expect(files).toEqual([
      {
        circuitId: 'winning-32g',
        name: 'v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-559e581f022bb4e4ec6e719e563bf0e026ad6de42e56c18714a2c692b1b88d7e.params',
        bytes: 192_050_232,
        digest: 'd84f79a16fe40e9e25a36e2107bb1ba0',
      },
      expect.objectContaining({ bytes: 13_636, digest: 'fc02943678dd119e69e7fab8420e8819' }),
      expect.objectContaining({ circuitId: 'snap-2k', bytes: 655_789_464, digest: '311f92a3e75036ced01b1c0025f1fa0c' }),
      expect.objectContaining({ circuitId: 'snap-2k', bytes: 1_348, digest: 'eadad9784969890d30f2749708c79771' }),
    ])
    for (const { name } of files) writeFileSync(join(directory, name), '')
    for (const [k, circuitId] of (['winning-32g', 'snap-2k'] as const).entries()) {
      const { paramsFile, vkFile } = await locateParameters(circuitId, { directory })
      expect([paramsFile, vkFile]).toEqual([0, 1].map((i) => join(directory, files[2 * k + i]?.name as string)))
    }
    expect(requiredFiles([])).toEqual([])
    for (const wrong of ['winning-1k', Object.create(null)] as CircuitId[]) {
      const error = await proverErrorOf(async () => requiredFiles([wrong]))
      expect([error.code, error.details.field]).toEqual(['ERR_INVALID_OPTIONS', 'circuitIds[0]'])
    }
    for (const wrong of ['winning-32g', undefined] as unknown as CircuitId[][]) {
      const error = await proverErrorOf(async () => requiredFiles(wrong))
      expect([error.code, error.details.field]).toEqual(['ERR_INVALID_OPTIONS', 'circuitIds'])
    }
  })

  test('what is of another version or of no circuit is told of, and nothing else', async () => {
    const [params, vk] = requiredFiles(['wpost-2k']).map(({ name }) => name) as [string, string]
    const known = [params, vk, params.replace(/params$/, 'meta'), 'dev-wpost-2k.params', 'dev-wpost-2k.json']
    const unknown = [params.replace('v28', 'v27'), 'dev-wpost-1k.vk', params.replace(/.params$/, '0.params')]
    const others = ['parameters.json', 'README', 'v28-fil-inner-product-v1.srs', 'dev-wpost-2k.params.12-ab.tmp']
    for (const name of [...known, ...unknown, ...others]) writeFileSync(join(directory, name), '')
    mkdirSync(join(directory, 'sub'))
    expect(await unknownParameterFiles(directory)).toEqual([...unknown].sort())
    expect(await unknownParameterFiles(join(directory, 'none'))).toEqual([])
  })

  test('an engine logs the folder that it reads, and those files', async () => {
    writeFileSync(join(directory, 'v27-old.params'), '')
    const lines: unknown[] = []
    const logger = { ...silentLogger, info: (fields: object | string) => void lines.push(fields) }
    const engine = await new FakeMachine().engine({ logger, parameterCache: pathToFileURL(`${directory}/`) })
    while (!lines.some((line) => typeof line === 'object' && line !== null && 'unknownFiles' in line)) await delay(1)
    expect(lines).toContainEqual({
      parameterCache: expect.stringContaining(directory),
      unknownFiles: ['v27-old.params'],
    })
    await engine.close()
  })
})
