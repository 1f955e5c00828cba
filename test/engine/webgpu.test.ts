/**
 * The built package with a GPU, the software one, each scenario in a process of its own that must end by itself after
 * `close()`. Most scenarios need no kernel, since the software GPU's driver compiles them slowly; one proves.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { postGeometry } from '../../src/synthesis/post-geometry.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { inclusionProofOffset, vanillaLayout } from '../../src/synthesis/vanilla-post.ts'
import { asTuning, DEFAULT_TUNING } from '../../src/webgpu/tuning.ts'
import { proverErrorOf } from '../support/expect-error.ts'
import { windowRequest } from '../support/fixtures.ts'
import { hasSoftwareGpu } from '../support/software-gpu.js'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { runWebGpuChild } from '../support/webgpu-scenario.ts'

const directory = temporaryDirectory()
const run = (scenario: string) => runWebGpuChild(scenario, directory)

beforeAll(async () => {
  const { developmentSetup } = await import('../../src/srs/development-setup.ts')
  await developmentSetup('wpost-2k', { directory })
}, 300_000)

afterAll(() => removeDirectory(directory))

const PROVED = { verified: true, length: 192 }

const layout = vanillaLayout(postGeometry('wpost-2k'))
/** Bytes of a vanilla proof that hashes alone show to be wrong: of a commitment, a leaf, the last sibling of a path. */
const FLIPS = [
  layout.commC,
  inclusionProofOffset(layout, 3) + layout.leaf,
  inclusionProofOffset(layout, 9) + (layout.levels.at(-1)?.siblings ?? 0),
]

/** What the host's check says of the second sector with a byte changed. */
async function hostError(at: number): Promise<unknown> {
  const request = windowRequest()
  const spoilt = request.vanillaProofs[1] as Uint8Array
  spoilt[at] = (spoilt[at] as number) ^ 1
  const [partition] = await takeOver(validateRequest(request))
  const run = { signal: new AbortController().signal, unit: () => {} }
  const error = await proverErrorOf(() =>
    checkAndSynthesize(partition as NonNullable<typeof partition>, new WasmPoseidonHasher(), run),
  )
  return error.toJSON()
}

describe.runIf(hasSoftwareGpu)('an engine on the software GPU', () => {
  test('proves in a process of its own, is aborted there, and ends', { timeout: 600_000 }, async () => {
    const result = await runWebGpuChild('process', directory, 'window', { WGZK_TEST_FLIPS: JSON.stringify(FLIPS) })
    expect(result.first).toEqual(PROVED)
    expect(result.aborted).toMatchObject({ message: 'enough' })
    // Found by the device, told as the host tells it, and no fault of the device.
    for (const [k, at] of FLIPS.entries()) expect(result.flipped[k]).toEqual(await hostError(at))
    expect(result.gpus).toMatchObject([{ state: 'idle', verifyFailures: 0 }])
    expect(result.events.filter((event: string) => /^retry/.test(event))).toEqual([])
    expect(result.capability).toMatchObject({ available: true, warm: true })
    expect(result.capability.device).toContain('SwiftShader')
    expect(result.gpus).toMatchObject([{ ordinal: 0, name: expect.stringContaining('SwiftShader') }])
    expect(result.gpuUnavailable).toBeUndefined()
    expect(result.events).not.toContain('fallback ERR_GPU_VALIDATION')
  })
})

test.runIf(hasSoftwareGpu)(
  'a calibration is used, and remembered for other processes',
  { timeout: 600_000 },
  async () => {
    const result = await runWebGpuChild('calibrated', directory, 'window', { XDG_CACHE_HOME: directory })
    const { before, aborted, measured, later, off } = result
    expect(before).toEqual({ source: 'default', tuning: DEFAULT_TUNING })
    expect(aborted).toMatchObject({ message: 'enough' })
    expect(measured).toMatchObject({ source: 'measured', tuning: asTuning(measured.tuning) })
    expect(measured.notKept).toBeUndefined()
    const { compileMs: _, deviceMs, ...remembered } = measured
    expect(deviceMs).toBeGreaterThan(0)
    expect(later).toEqual({ ...remembered, source: 'file' })
    expect(off).toEqual(before)
  },
)

test.runIf(hasSoftwareGpu)('an idle device calibrates itself, and gives way', { timeout: 600_000 }, async () => {
  const folder = temporaryDirectory()
  try {
    const result = await runWebGpuChild('idle', directory, 'window', { XDG_CACHE_HOME: folder })
    expect(result.aborted).toMatchObject({ message: 'enough' })
    expect(result.early).toBe(false)
    // Compiling, which it was at, takes longer by far.
    expect(result.waitedMs).toBeLessThan(3_000)
  } finally {
    removeDirectory(folder)
  }
})

describe.runIf(hasSoftwareGpu).concurrent('a fault of the GPU', { timeout: 200_000 }, () => {
  test('a lost device is opened again and tried again, then the CPU device stands in', async () => {
    const { first, events, gpus, gpuUnavailable } = await run('fault:lose')
    expect(first).toEqual(PROVED)
    expect(events.slice(0, 3)).toEqual(['gpu lost', 'retry ERR_GPU_DEVICE_LOST', 'gpu ready'])
    expect(events).toContain('fallback ERR_GPU_DEVICE_LOST')
    expect(gpus).toMatchObject([{ state: 'quarantined', generation: 4 }, { name: expect.stringContaining('CPU') }])
    expect(gpuUnavailable).toContain('The GPU device was lost')
  })

  test('so is one whose process ends', async () => {
    const { first, events, gpus } = await run('fault:exit')
    expect(first).toEqual(PROVED)
    expect(events.slice(0, 3)).toEqual(['gpu lost', 'retry ERR_WORKER_EXITED', 'gpu ready'])
    expect(events).toContain('fallback ERR_WORKER_EXITED')
    // The last words of the process.
    expect(gpus[0].reason).toContain('gone')
  })

  test('what its memory has no room for goes to the CPU device after retries', async () => {
    const { first, events, gpus } = await run('fault:out-of-memory')
    expect(first).toEqual(PROVED)
    const tried = events.filter((event: string) => /retry|fallback/.test(event))
    expect(tried).toEqual([...Array(2).fill('retry ERR_GPU_OUT_OF_MEMORY'), 'fallback ERR_GPU_OUT_OF_MEMORY'])
    expect(gpus[0].state).toBe('idle')
  })

  test('a kernel that the driver refuses is an error of its own, with its place, where nothing may stand in', async () => {
    const { first, events } = await run('strict:bad-shader')
    expect(first).toMatchObject({ code: 'ERR_GPU_VALIDATION', message: expect.stringContaining('Kernel broken') })
    expect(events).toEqual(['gpu closed'])
  })

  test('a device that is lost again and again fails the job where nothing may stand in', async () => {
    expect((await run('strict:lose')).first.code).toBe('ERR_GPU_DEVICE_LOST')
  })

  test('one that computes wrong is excluded before it proves, with the reason', async () => {
    const { first, events, gpus, gpuUnavailable } = await run('fault:wrong')
    expect(first).toEqual(PROVED)
    expect(events).toContain('fallback ERR_GPU_UNAVAILABLE')
    expect(gpus[0]).toMatchObject({ state: 'excluded', reason: expect.stringContaining('computes a transform wrong') })
    expect(gpuUnavailable).toContain('computes a transform wrong')
  })
})

describe.runIf(hasSoftwareGpu)('wgzk doctor', () => {
  test('names the adapters and circuits, as a table and as JSON', { timeout: 200_000 }, async () => {
    const script = fileURLToPath(new URL('../../dist/cli/wgzk.js', import.meta.url))
    const [code, output] = await new Promise<[number | null, string]>((resolve) => {
      // Without the software GPU's variables: its self-test takes long.
      const env = { ...process.env, VK_ICD_FILENAMES: '', VK_DRIVER_FILES: '', LD_LIBRARY_PATH: '' }
      const started = spawn(process.execPath, [script, 'doctor', '--json', '--parameters', directory], { env })
      let text = ''
      started.stdout.on('data', (data) => {
        text += data
      })
      started.on('close', (status) => resolve([status, text]))
    })
    const report = JSON.parse(output)
    expect(code).toBe(0)
    expect(report).toMatchObject({
      canProve: true,
      parameterCache: directory,
      memory: { engineBytes: expect.any(Number) },
    })
    expect(report.circuits.length).toBe(20)
    const circuit = (id: string) => report.circuits.find(({ circuitId }: { circuitId: string }) => circuitId === id)
    const estimate = { device: 'CPU (WebAssembly)', partitions: 1, proofMs: expect.any(Number) }
    expect(circuit('wpost-2k')).toMatchObject({ available: true, parameters: 'development', estimate })
    // Larger than what any device here can serve.
    expect(circuit('porep-32g').estimate).toBeUndefined()
    expect(report.cpu.rates.sumNs.g2).toBeGreaterThan(report.cpu.rates.sumNs.g1)
    // Without the flag that the doctor may set for itself: what an engine gets on this Node.
    expect(report.devices[0]).toContain(report.cpu.relaxedSimd && report.cpu.fusedMultiplyAdd ? 'fused' : 'integers')
    expect(report.cpu.ratesWithFlag === undefined).toBe(report.cpu.relaxedSimd || !report.cpu.relaxedSimdWithFlag)
  })
})
