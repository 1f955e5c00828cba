/** A real device that is interrupted: what is critical ends first, and the interrupted proofs hold. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Engine } from '../../src/engine.ts'
import { windowRequest } from '../support/fixtures.ts'
import { syntheticWindowRequest } from '../support/synthetic-post.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()

beforeAll(async () => {
  const { developmentSetup } = await import('../../src/srs/development-setup.ts')
  await developmentSetup('wpost-2k', { directory })
}, 300_000)

afterAll(() => removeDirectory(directory))

// On a busy machine the other partition may just be at its end.
test('units of a critical partition go between those of another, whose proof holds as well', { retry: 2 }, async () => {
  const gpu = { devices: 'cpu' } as const
  await using engine = await Engine.create({ parameterCache: directory, allowDevelopmentParameters: true, gpu })
  // Until its parameters are there nothing could be interrupted.
  await engine.prove(windowRequest())
  const order: string[] = []
  const shares: number[] = []
  engine.on('partition', ({ job, index, state }) => {
    if (state === 'gpu' || state === 'done') order.push(`${job.requestId} ${index} ${state}`)
  })
  engine.on('progress', ({ job, fraction }) => {
    if (job.requestId === 'low') shares.push(fraction)
  })
  const low = engine.prove({ ...syntheticWindowRequest('2k', 12), priority: 'low', requestId: 'low' })
  await new Promise<void>((resolve) => {
    engine.on('partition', ({ state }) => {
      if (state === 'gpu') resolve()
    })
  })
  const critical = await engine.prove({ ...windowRequest(), priority: 'critical', requestId: 'critical' })
  expect(critical.verified).toBe(true)
  const { verified, partitions } = await low
  expect([verified, partitions]).toEqual([true, 6])
  expect(shares).toEqual([...shares].sort((a, b) => a - b))
  // It came to the device while one of the others was on it, and left before that one.
  const at = (entry: string): number => order.indexOf(entry)
  const interrupted = [0, 1, 2, 3, 4, 5].filter(
    (k) => at(`low ${k} gpu`) < at('critical 0 gpu') && at('critical 0 done') < at(`low ${k} done`),
  )
  expect(interrupted.length).toBe(1)
})
