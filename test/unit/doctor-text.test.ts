import { describe, expect, test } from 'vitest'
import { busyWarnings } from '../../src/cli/busy.ts'
import type { DoctorReport } from '../../src/cli/doctor.ts'
import { reportText } from '../../src/cli/doctor-text.ts'
import { wrapped } from '../../src/cli/table.ts'
import { DEFAULT_TUNING } from '../../src/webgpu/tuning.ts'

const rates = {
  log2Domain: 22,
  rowNs: 1,
  scalarNs: 2,
  quotientNs: 3,
  sumMs: { g1: 4, g2: 5 },
  sumNs: { g1: 6, g2: 7 },
  bitNs: { g1: 8, g2: 9 },
  importNs: { g1: 10, g2: 11 },
  scatter: 0.1,
}

const file = `/var/tmp/filecoin-proof-parameters/v28-${'0123456789abcdef'.repeat(9)}.params`
const report: DoctorReport = {
  node: 'v20.20.0',
  platform: 'linux x64',
  cpu: {
    model: 'AMD EPYC',
    cores: 16,
    relaxedSimd: false,
    relaxedSimdWithFlag: true,
    fusedMultiplyAdd: true,
    threads: 16,
  },
  memory: { ramBytes: 2 ** 36, cgroupBytes: 2 ** 35, engineBytes: 2 ** 34 },
  adapters: [
    {
      name: 'NVIDIA H200',
      backend: 'vulkan',
      software: false,
      copies: 1,
      copy: 0,
      details: {
        vendor: 'nvidia',
        architecture: 'hopper',
        driver: 'NVIDIA: 580.159',
        software: false,
        limits: { maxBufferSize: 2 ** 38 },
      },
      maxLog2Domain: 27,
      selfTest: 'passed',
      selfTestMs: 90,
      tuning: {
        source: 'measured',
        tuning: { ...DEFAULT_TUNING, workgroupSize: 128 },
        measuredAt: '2026-11-30T18:00:00.000Z',
        compileMs: 3000,
        deviceMs: 1200,
        additionsPerMs: 1e6,
        trials: [
          {
            what: 'workgroupSize',
            chosen: 128,
            tried: [
              { value: 64, ms: 8 },
              { value: 128, ms: 7.5 },
            ],
          },
        ],
        notKept: `EROFS: read-only file system, mkdir '${'/cache'.repeat(30)}'`,
      },
      rates,
    },
  ],
  devices: ['NVIDIA H200'],
  parameterCache: '/var/tmp/filecoin-proof-parameters',
  circuits: [
    {
      circuitId: 'porep-2k',
      available: false,
      warm: false,
      reason: `no parameters: no file ${file}`,
      parameters: 'missing',
    },
    {
      circuitId: 'porep-32g',
      available: true,
      warm: false,
      device: 'NVIDIA H200',
      parameters: 'published',
      estimate: { device: 'NVIDIA H200', partitions: 10, proofMs: 40_000, importMs: 1000 },
    },
    ...(['porep-64g', 'snap-64g'] as const).map((circuitId, k) => ({
      circuitId,
      available: false,
      warm: false,
      reason: `circuit ${circuitId} (13118584${k} constraints) needs an evaluation domain of 2^27; the devices of this machine reach 2^24`,
      parameters: 'published' as const,
    })),
  ],
  canProve: true,
  warnings: ['other work wanted 12.0 of the 16 cores in the minute before: rates may be too low'],
}

describe('the report of the doctor', () => {
  const text = reportText(report)

  test('keeps to a hundred columns, as far as words do', () => {
    const long = text.split('\n').filter((line) => line.length > 100)
    expect(long.map((line) => line.trim().split(' ').length)).toEqual([1])
    expect(text).not.toContain('.params')
  })

  test('says what each circuit lacks, once', () => {
    expect(text).toMatch(/^ {2}porep-2k +missing +— no parameters$/m)
    expect(text).toMatch(/^ {2}porep-32g +published +40\.0 s on NVIDIA H200 +NVIDIA H200$/m)
    expect(text).toMatch(/^ {2}porep-64g +published +— \[1\]$/m)
    expect(text).toMatch(/^ {2}snap-64g +published +— \[1\]$/m)
    expect(text.match(/needs an evaluation domain/g)).toHaveLength(1)
  })

  test('shows the tuning and where it is from', () => {
    expect(text).toContain('tuning: measured just now, in 1.20 s and 3.00 s of compiling')
    expect(text).toContain('workgroups of 128, batches of 16, a bucket 2 additions, first unit 65536')
    expect(text).toContain('tried workgroups of 64: 8.00 ms, 128: 7.50 ms')
    expect(text).toContain("can't be remembered: EROFS")
    expect(text).toContain('Warning: other work')
  })
})

test('warns where others slowed the measurement down, and only then', () => {
  expect(busyWarnings(0, { cpu: rates, gpu: undefined })).toEqual([])
  expect(busyWarnings(1e4, {})).toEqual([expect.stringMatching(/^other work wanted 10000\.0 of the \d+ cores/)])
  expect(busyWarnings(0, { cpu: { ...rates, scatter: 0.5 } })).toEqual([
    expect.stringContaining('of cpu differ by 50 %'),
  ])
})

test('wraps between words', () => {
  expect(wrapped('a bc def', '  ', 4)).toEqual(['a bc', '  def'])
  expect(wrapped('  a', '  ', 4)).toEqual(['  a'])
})
