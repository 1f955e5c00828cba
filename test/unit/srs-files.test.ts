import { readFileSync } from 'node:fs'
import { appendFile, copyFile, mkdir, readdir, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordCircuit } from '../../src/circuit/circuit-shape.ts'
import { LinearCombination } from '../../src/circuit/linear-combination.ts'
import { ONE } from '../../src/circuit/shape.ts'
import type { Run } from '../../src/groth16/proving-device.ts'
import { shapeFingerprint } from '../../src/params/development-marker.ts'
import { bytesDigest, fileDigest, memoFile } from '../../src/params/digest.ts'
import { paramsLayout, QUERIES, type Query } from '../../src/params/layout.ts'
import type { ParametersLocation } from '../../src/params/parameters-location.ts'
import { developmentFileNames, publishedParameters } from '../../src/params/published.ts'
import { openVerifyingKey, SrsFile } from '../../src/params/srs-file.ts'
import { locateParameters } from '../../src/srs/locate-parameters.ts'
import { openFiles as filesOpenNow } from '../support/open-files.ts'
import { makeDevelopmentParameters } from '../support/parameters.ts'
import { ReferenceDevice } from '../support/reference-device.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { tinyCircuit } from '../support/tiny-circuit.ts'

// The tiny circuit bears the name of a real one, so that files can lie under real names.
const shape = tinyCircuit()
const { circuitId } = shape
const layout = paramsLayout(shape)
const dev = developmentFileNames(circuitId)
const published = publishedParameters(circuitId)
const idle: Run = { signal: new AbortController().signal, unit: () => {} }

let directory: string
let paramsFile: string
let vkFile: string
let markerFile: string
/** Good files, made once. */
let original: { params: Buffer; vk: Buffer; marker: string }

const namesIn = (folder: string) => ({
  paramsFile: join(folder, dev.paramsFile),
  vkFile: join(folder, dev.vkFile),
  markerFile: join(folder, dev.markerFile),
})

beforeAll(async () => {
  const folder = temporaryDirectory()
  process.env.XDG_CACHE_HOME = folder
  const names = namesIn(folder)
  await makeDevelopmentParameters(new ReferenceDevice(), shape, names, 'x', idle)
  original = {
    params: readFileSync(names.paramsFile),
    vk: readFileSync(names.vkFile),
    marker: readFileSync(names.markerFile, 'utf8'),
  }
  removeDirectory(folder)
})

beforeEach(async () => {
  directory = temporaryDirectory()
  ;({ paramsFile, vkFile, markerFile } = namesIn(directory))
  process.env.XDG_CACHE_HOME = join(directory, 'cache')
  await writeFile(paramsFile, original.params)
  await writeFile(vkFile, original.vk)
  await writeFile(markerFile, original.marker)
})

afterEach(() => {
  delete process.env.XDG_CACHE_HOME
  removeDirectory(directory)
})

const locate = (): Promise<ParametersLocation> => locateParameters(circuitId, { directory, allowDevelopment: true })
const openFiles = async (): Promise<SrsFile> => SrsFile.open(await locate(), shape, idle)

/** Open handles of this process on files of the test's folder. */
const openHandles = (): string[] => filesOpenNow().filter((path) => path.startsWith(directory))

async function pointsOf(source: SrsFile, query: Query, first: number, count: number): Promise<Uint8Array> {
  const target = new Uint8Array(count * layout.queries[query].pointBytes)
  await source.readInto(query, first, target)
  return target
}

const refuses = async (details: Record<string, unknown>, code = 'ERR_SRS_UNAVAILABLE'): Promise<void> => {
  const before = (await readdir(directory)).sort()
  const error = await openFiles().catch((caught: unknown) => caught)
  expect(error).toMatchObject({ code, details })
  // A failure leaves no open file and writes nothing but the memory of digests.
  expect(openHandles()).toEqual([])
  expect((await readdir(directory)).filter((name) => name !== 'cache').sort()).toEqual(
    before.filter((name) => name !== 'cache'),
  )
}

describe('parameters that are as they should be', () => {
  it('open, give the key and every range, and close', async () => {
    const source = await openFiles()
    expect(source.development).toBe(true)
    expect(Buffer.from(source.key.ic)).toEqual(original.vk.subarray(868))
    for (const query of QUERIES) {
      const { points, offset, pointBytes } = layout.queries[query]
      for (const [first, count] of [
        [0, points],
        [1, 1],
        [points - 1, 1],
        [points, 0],
      ] as const) {
        const expected = original.params.subarray(offset + first * pointBytes, offset + (first + count) * pointBytes)
        expect(Buffer.from(await pointsOf(source, query, first, count))).toEqual(expected)
      }
      await expect(pointsOf(source, query, points, 1)).rejects.toThrow(RangeError)
      await expect(pointsOf(source, query, -1, 1)).rejects.toThrow(RangeError)
      await expect(source.readInto(query, 0, new Uint8Array(pointBytes + 4))).rejects.toThrow(RangeError)
    }
    await source.close()
    await source.close()
    expect(openHandles()).toEqual([])
  })

  it('the directory may be a URL, or come from the environment', async () => {
    const url = pathToFileURL(`${directory}/`)
    expect((await locateParameters(circuitId, { directory: url, allowDevelopment: true })).paramsFile).toBe(paramsFile)
    const before = process.env.FIL_PROOFS_PARAMETER_CACHE
    process.env.FIL_PROOFS_PARAMETER_CACHE = directory
    try {
      expect((await locateParameters(circuitId, { allowDevelopment: true })).paramsFile).toBe(paramsFile)
    } finally {
      if (before === undefined) delete process.env.FIL_PROOFS_PARAMETER_CACHE
      else process.env.FIL_PROOFS_PARAMETER_CACHE = before
    }
  })

  it('published ones are preferred, whether development parameters are allowed or not', async () => {
    await writeFile(join(directory, published.paramsFile), 'x')
    await writeFile(join(directory, published.vkFile), 'x')
    for (const allowDevelopment of [true, false]) {
      expect(await locateParameters(circuitId, { directory, allowDevelopment })).toEqual({
        circuitId,
        development: false,
        paramsFile: join(directory, published.paramsFile),
        vkFile: join(directory, published.vkFile),
        paramsDigest: published.paramsDigest,
        vkDigest: published.vkDigest,
      })
    }
  })

  it('the key alone can be had', async () => {
    expect((await openVerifyingKey(await locate(), shape.inputs)).inputs).toBe(shape.inputs)
    await expect(openVerifyingKey(await locate(), 133)).rejects.toMatchObject({
      details: { file: vkFile, expected: '133 public inputs', received: '2 public inputs' },
    })
    expect(openHandles()).toEqual([])
  })
})

describe('a machine that only verifies', () => {
  const locateKey = (allowDevelopment = false): Promise<ParametersLocation> =>
    locateParameters(circuitId, { directory, allowDevelopment, verifyingKeyOnly: true })
  const publishedVk = (): string => join(directory, published.vkFile)

  it('needs the published key alone', async () => {
    for (const file of [paramsFile, vkFile, markerFile]) await rm(file)
    await expect(locateKey()).rejects.toMatchObject({
      code: 'ERR_SRS_UNAVAILABLE',
      details: { file: publishedVk(), received: 'no file' },
    })
    await writeFile(publishedVk(), 'x')
    for (const allowed of [true, false]) {
      expect(await locateKey(allowed)).toMatchObject({
        development: false,
        vkFile: publishedVk(),
        vkDigest: published.vkDigest,
      })
    }
  })

  it('or the development key and its marker, where that is allowed', async () => {
    await rm(paramsFile)
    expect(await locateKey(true)).toMatchObject({ development: true, vkFile })
    await expect(locateKey()).rejects.toMatchObject({ code: 'ERR_DEVELOPMENT_PARAMETERS', details: { file: vkFile } })
  })

  it('takes the key of the parameters that an engine would prove with', async () => {
    await writeFile(publishedVk(), 'x')
    expect(await locateKey(true)).toMatchObject({ development: true, vkFile })
    expect(await locateKey()).toMatchObject({ development: false, vkFile: publishedVk() })
    await writeFile(join(directory, published.paramsFile), 'x')
    expect(await locateKey(true)).toMatchObject({ development: false, vkFile: publishedVk() })
  })
})

describe('bad parameters', () => {
  it('development parameters where they are not allowed', async () => {
    await expect(locateParameters(circuitId, { directory })).rejects.toMatchObject({
      code: 'ERR_DEVELOPMENT_PARAMETERS',
      retryable: false,
      details: { file: paramsFile, expected: join(directory, published.paramsFile) },
    })
  })

  it('missing: names where the published file should be', async () => {
    await rm(paramsFile)
    await refuses({ file: join(directory, published.paramsFile), expected: '47299128 bytes', received: 'no file' })
  })

  it('missing directory', async () => {
    await expect(locateParameters(circuitId, { directory: join(directory, 'none') })).rejects.toMatchObject({
      code: 'ERR_SRS_UNAVAILABLE',
      retryable: true,
      details: { file: join(directory, 'none', published.paramsFile), received: 'no file' },
    })
  })

  it('missing verifying key', async () => {
    await rm(vkFile)
    await refuses({ file: vkFile, received: 'no file' })
    await writeFile(join(directory, published.paramsFile), 'x')
    await refuses({ file: join(directory, published.vkFile), received: 'no file' })
  })

  it('missing or foreign marker', async () => {
    await rm(markerFile)
    await refuses({ file: markerFile, received: 'no file' })
    await writeFile(markerFile, 'no JSON')
    await refuses({ file: markerFile, expected: 'JSON' })
    await writeFile(markerFile, '{"format":"other"}')
    await refuses({ file: markerFile, received: 'format "other"' })
    await writeFile(markerFile, 'null')
    await refuses({ file: markerFile, received: 'format undefined' })
    await writeFile(markerFile, original.marker.replace(circuitId, 'wpost-2k'))
    await refuses({ file: markerFile, expected: circuitId, received: 'wpost-2k' })
    await writeFile(markerFile, original.marker.replace(/"params_digest": "../, '"params_digest": "'))
    await refuses({ file: markerFile, expected: 'params_digest: 32 hexadecimal digits' })
  })

  it('empty', async () => {
    await truncate(paramsFile)
    await refuses({ file: paramsFile, expected: `${layout.fileBytes} bytes`, received: '0 bytes' })
  })

  it('empty verifying key', async () => {
    await truncate(vkFile)
    await refuses({ file: vkFile, expected: 'a verifying key', received: '0 bytes' })
  })

  it('truncated: says how many bytes there should be and how many there are', async () => {
    await truncate(paramsFile, layout.fileBytes - 1)
    await refuses({
      file: paramsFile,
      expected: `${layout.fileBytes} bytes`,
      received: `${layout.fileBytes - 1} bytes`,
    })
  })

  it('too long', async () => {
    await appendFile(paramsFile, 'x')
    await refuses({
      file: paramsFile,
      expected: `${layout.fileBytes} bytes`,
      received: `${layout.fileBytes + 1} bytes`,
    })
  })

  it('foreign: something else of the right size', async () => {
    await writeFile(paramsFile, Buffer.alloc(layout.fileBytes, 7))
    await refuses({ file: paramsFile, received: 'another verifying key' })
  })

  it('foreign: sections of another length', async () => {
    const changed = Buffer.from(original.params)
    changed.writeUInt32BE(layout.queries.a.points + 1, layout.queries.a.offset - 4)
    await writeFile(paramsFile, changed)
    await refuses({
      file: paramsFile,
      expected: `a: ${layout.queries.a.points} points`,
      received: `a: ${layout.queries.a.points + 1} points`,
    })
  })

  it('swapped with those of another set-up', async () => {
    const other = temporaryDirectory()
    await makeDevelopmentParameters(new ReferenceDevice(), shape, namesIn(other), 'x', idle)
    await copyFile(namesIn(other).paramsFile, paramsFile)
    await refuses({ file: paramsFile, expected: `the ${layout.vkBytes} bytes of ${vkFile}` })
    await writeFile(paramsFile, original.params)
    await copyFile(namesIn(other).vkFile, vkFile)
    await refuses({
      file: vkFile,
      expected: JSON.parse(original.marker).vk_digest,
      received: bytesDigest(readFileSync(vkFile)),
    })
    removeDirectory(other)
  })

  it('wrong digest: one bit of a point', async () => {
    const changed = Buffer.from(original.params)
    changed[layout.queries.h.offset + 40] = (changed[layout.queries.h.offset + 40] as number) ^ 1
    await writeFile(paramsFile, changed)
    await refuses({
      file: paramsFile,
      expected: JSON.parse(original.marker).params_digest,
      received: bytesDigest(changed),
    })
  })

  it('a point off the curve in a key of matching digest', async () => {
    const changed = Buffer.from(original.vk)
    changed[868 + 96 + 3] = (changed[868 + 96 + 3] as number) ^ 1
    await writeFile(vkFile, changed)
    await writeFile(paramsFile, Buffer.concat([changed, original.params.subarray(layout.vkBytes)]))
    await writeFile(markerFile, original.marker.replace(JSON.parse(original.marker).vk_digest, bytesDigest(changed)))
    await refuses({ file: vkFile, received: 'ic[1]: off the curve' })
  })

  it('development parameters of another version of the circuit', async () => {
    const other = recordCircuit(circuitId, (cs) => {
      const x = cs.allocate('wide')
      cs.enforce(LinearCombination.of(x), LinearCombination.of(ONE), LinearCombination.of(x))
    })
    const error = await SrsFile.open(await locate(), other, idle).catch((caught: unknown) => caught)
    expect(error).toMatchObject({
      code: 'ERR_SRS_UNAVAILABLE',
      details: {
        file: paramsFile,
        expected: `circuit ${shapeFingerprint(other)}`,
        received: `circuit ${shapeFingerprint(shape)}`,
      },
    })
  })
})

describe('a file that changes while it is in use', () => {
  it.each([
    ['shrinks', () => truncate(paramsFile, layout.fileBytes - 192), /bytes/],
    ['grows', () => appendFile(paramsFile, 'x'), `${layout.fileBytes + 1} bytes instead of ${layout.fileBytes}`],
    ['is removed', () => rm(paramsFile), 'removed or replaced'],
    [
      'is replaced',
      async () => {
        await copyFile(paramsFile, `${paramsFile}.new`)
        await rename(`${paramsFile}.new`, paramsFile)
      },
      'removed or replaced',
    ],
    [
      'is written to',
      async () => {
        await writeFile(paramsFile, original.params)
        await utimes(paramsFile, 1, 2)
      },
      'written to',
    ],
  ] as const)('%s', async (_, change, received) => {
    const source = await openFiles()
    await pointsOf(source, 'h', 0, 1)
    await change()
    await expect(pointsOf(source, 'b_g2', 0, layout.queries.b_g2.points)).rejects.toMatchObject({
      code: 'ERR_SRS_UNAVAILABLE',
      details: { file: paramsFile, received: expect.stringMatching(received) },
    })
    await source.close()
  })
})

describe('digests', () => {
  it('are remembered by path, size and time, and not believed after a change', async () => {
    const digest = await fileDigest(paramsFile, idle)
    expect(digest).toBe(bytesDigest(original.params))
    const memo = JSON.parse(readFileSync(memoFile(), 'utf8'))
    expect(memo.files[paramsFile]).toMatchObject({ bytes: layout.fileBytes, digest })
    // From memory: another value shows that the file was not read.
    memo.files[paramsFile].digest = 'remembered'
    await writeFile(memoFile(), JSON.stringify(memo))
    expect(await fileDigest(paramsFile, idle)).toBe('remembered')
    await utimes(paramsFile, 5, 5)
    expect(await fileDigest(paramsFile, idle)).toBe(digest)
  })

  it('a damaged memory, or none that can be written, does no harm', async () => {
    await mkdir(join(directory, 'cache', 'wgzk'), { recursive: true })
    for (const content of ['{', 'null', '[]', '{"version":99,"files":{}}']) {
      await writeFile(memoFile(), content)
      expect(await fileDigest(paramsFile, idle)).toBe(bytesDigest(original.params))
    }
    process.env.XDG_CACHE_HOME = paramsFile
    expect(await fileDigest(paramsFile, idle)).toBe(bytesDigest(original.params))
  })

  it('abort', async () => {
    const run = { signal: AbortSignal.abort(new Error('stop')), unit: () => {} }
    await expect(fileDigest(paramsFile, run)).rejects.toThrow('stop')
    await expect(SrsFile.open(await locate(), shape, run)).rejects.toThrow('stop')
    expect(openHandles()).toEqual([])
  })
})

describe('making development parameters', () => {
  it('leaves three files and remembers the digest', async () => {
    const folder = join(directory, 'new')
    await mkdir(folder)
    await makeDevelopmentParameters(new ReferenceDevice(), shape, namesIn(folder), 'x', idle)
    expect((await readdir(folder)).sort()).toEqual([dev.markerFile, dev.paramsFile, dev.vkFile].sort())
    const marker = JSON.parse(readFileSync(namesIn(folder).markerFile, 'utf8'))
    expect(marker).toMatchObject({ circuit_id: circuitId, params_bytes: layout.fileBytes })
    expect(Date.now() - Date.parse(marker.created)).toBeLessThan(60_000)
    const memo = JSON.parse(readFileSync(memoFile(), 'utf8'))
    expect(memo.files[namesIn(folder).paramsFile].digest).toBe(marker.params_digest)
    // Fresh secrets each time.
    expect(readFileSync(namesIn(folder).vkFile).equals(original.vk)).toBe(false)
  })

  it.each([1, 2, 4, 7])('aborted at operation %i it leaves what was there', async (when) => {
    const controller = new AbortController()
    let operations = 0
    const device = new ReferenceDevice({
      before: () => {
        if (++operations === when) controller.abort(new Error('enough'))
      },
    })
    const run = { signal: controller.signal, unit: () => {} }
    await expect(makeDevelopmentParameters(device, shape, namesIn(directory), 'x', run)).rejects.toThrow('enough')
    expect((await readdir(directory)).filter((name) => name !== 'cache').sort()).toEqual(
      [dev.markerFile, dev.paramsFile, dev.vkFile].sort(),
    )
    expect(readFileSync(paramsFile).equals(original.params)).toBe(true)
    expect(openHandles()).toEqual([])
  })
})
