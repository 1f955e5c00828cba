/** The doctor's report for people. */
import type { TuningInUse } from '../device/device-spec.ts'
import type { Trial } from '../webgpu/tuning.ts'
import { duration, ratesLines } from './bench-text.ts'
import type { AdapterReport, DoctorReport } from './doctor.ts'
import { table, wrapped } from './table.ts'

/** Limits that decide what an adapter can prove, and how fast. */
const SHOWN_LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
]

export function reportText(report: DoctorReport): string {
  const { cpu, memory, adapters, circuits, parameterCache } = report
  const simd = cpu.relaxedSimd ? 'yes' : cpu.relaxedSimdWithFlag ? "with cpu.relaxedSimd: 'enable'" : 'no'
  const limit = memory.cgroupBytes === undefined ? 'none' : gib(memory.cgroupBytes)
  const lines = [
    `wgzk on ${report.platform}, Node ${report.node}`,
    '',
    'Processor',
    `  ${cpu.model}, ${cpu.cores} cores; threads of the CPU device: ${cpu.threads}`,
    `  relaxed SIMD: ${simd}; fused multiply-add: ${cpu.fusedMultiplyAdd ? 'yes' : 'no'}`,
    ...(cpu.rates === undefined ? [] : indented(ratesLines(cpu.rates))),
    ...(cpu.reason === undefined ? [] : wrapped(`    ${cpu.reason}`, '      ')),
    ...(cpu.ratesWithFlag === undefined
      ? []
      : ["  with cpu.relaxedSimd: 'enable'", ...indented(ratesLines(cpu.ratesWithFlag))]),
    '',
    'Memory',
    `  RAM ${gib(memory.ramBytes)}, limit of the control group: ${limit}`,
    `  the engine would use ${gib(memory.engineBytes)}`,
    '',
    'Adapters',
    ...(adapters.length === 0 ? ['  none'] : adapters.flatMap(adapterLines)),
    ...(report.gpuUnavailable === undefined ? [] : wrapped(`  no GPU is used: ${report.gpuUnavailable}`, '    ')),
    '',
    'Devices of an engine with default options',
    ...(report.devices.length === 0
      ? wrapped(`  none: ${report.failure}`, '    ')
      : report.devices.map((name) => `  ${name}`)),
    '',
    `Circuits (parameters in ${parameterCache})`,
    ...circuitLines(circuits),
    '',
    'Times are of the device alone, all partitions, by its rates, with the points in its memory.',
    ...report.warnings.flatMap((warning) => wrapped(`Warning: ${warning}`, '  ')),
  ]
  return lines.join('\n')
}

/** A table, and below it what is too long for its cells. */
function circuitLines(circuits: DoctorReport['circuits']): string[] {
  const notes: string[] = []
  const whyNot = ({ parameters, reason }: DoctorReport['circuits'][number]): string => {
    // The name of each file is as long as a line.
    if (parameters === 'missing' && reason?.startsWith('no parameters')) return '— no parameters'
    // Numbers of a circuit differ, what it lacks does not.
    const text = reason?.replace(/^circuit \S+ \(.*?\) /, 'it ') ?? 'unknown'
    if (!notes.includes(text)) notes.push(text)
    return `— [${notes.indexOf(text) + 1}]`
  }
  const rows = circuits.map((circuit) => {
    const { circuitId, parameters, device, estimate } = circuit
    const time = estimate === undefined ? '' : `${duration(estimate.proofMs)} on ${estimate.device}`
    return [circuitId, parameters, time, device ?? whyNot(circuit)]
  })
  return [
    ...table(['circuit', 'parameters', 'a proof takes about', 'device, or why not'], rows),
    ...notes.flatMap((note, k) => wrapped(`  [${k + 1}] ${note}`, '      ')),
  ]
}

function adapterLines({ name, backend, software, copies, copy, ...adapter }: AdapterReport): string[] {
  const { details, maxLog2Domain, selfTest, selfTestMs, reason } = adapter
  const marks = [backend, ...(software ? ['software'] : []), ...(copies > 1 ? [`${copy + 1} of ${copies} alike`] : [])]
  const lines = [`  ${name} (${marks.join(', ')})`]
  if (details !== undefined) {
    const limits = SHOWN_LIMITS.map((limit) => `${limit} ${details.limits[limit] ?? 'unknown'}`).join(', ')
    lines.push(`    driver: ${details.driver || 'unknown'}; circuits up to a domain of 2^${maxLog2Domain}`)
    lines.push(...wrapped(`    ${limits}`, '    '))
  }
  const time = selfTestMs === undefined ? '' : ` in ${selfTestMs} ms`
  lines.push(...wrapped(`    self-test: ${selfTest}${time}${reason === undefined ? '' : `: ${reason}`}`, '      '))
  if (adapter.tuning !== undefined) lines.push(...tuningLines(adapter.tuning))
  if (adapter.rates !== undefined) lines.push(...indented(ratesLines(adapter.rates)))
  return lines
}

/** What a trial's values are. */
const TRIED: Readonly<Record<Trial['what'], string>> = {
  workgroupSize: 'workgroups of',
  inversionBatch: 'batches of an inversion of',
  window: 'bits of a window',
}

function tuningLines({ source, tuning, trials = [], measuredAt, compileMs, deviceMs, notKept }: TuningInUse): string[] {
  const { workgroupSize, inversionBatch, bucketCost, firstUnit } = tuning
  const since = {
    default: 'the default: not measured yet',
    file: `remembered, measured ${measuredAt}`,
    measured: `measured just now, in ${duration(deviceMs ?? 0)} and ${duration(compileMs ?? 0)} of compiling`,
  }[source]
  const times = trials.map(({ what, tried }) => {
    const each = tried.map(({ value, ms }) => `${value}: ${ms.toFixed(2)} ms`).join(', ')
    return wrapped(`      tried ${TRIED[what]} ${each}`, '        ')
  })
  return [
    `    tuning: ${since}`,
    `      workgroups of ${workgroupSize}, batches of ${inversionBatch}, a bucket ${bucketCost} additions, first unit ${firstUnit}`,
    ...times.flat(),
    ...(notKept === undefined ? [] : wrapped(`      it can't be remembered: ${notKept}`, '        ')),
  ]
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => `    ${line}`)

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`
