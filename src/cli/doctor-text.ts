/** The doctor's report for people. */
import type { AdapterReport, DoctorReport } from './doctor.ts'

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
    '',
    'Memory',
    `  RAM ${gib(memory.ramBytes)}, limit of the control group: ${limit}; the engine would use ${gib(memory.engineBytes)}`,
    '',
    'Adapters',
    ...(adapters.length === 0 ? ['  none'] : adapters.flatMap(adapterLines)),
    ...(report.gpuUnavailable === undefined ? [] : [`  no GPU is used: ${report.gpuUnavailable}`]),
    '',
    'Devices of an engine with default options',
    ...(report.devices.length === 0 ? [`  none: ${report.failure}`] : report.devices.map((name) => `  ${name}`)),
    '',
    `Circuits (parameters in ${parameterCache})`,
    ...table(
      ['circuit', 'parameters', 'device, or why not'],
      circuits.map(({ circuitId, parameters, device, reason }) => [circuitId, parameters, device ?? `— ${reason}`]),
    ),
  ]
  return lines.join('\n')
}

function adapterLines({ name, backend, software, copies, copy, ...adapter }: AdapterReport): string[] {
  const { details, maxLog2Domain, selfTest, selfTestMs, reason } = adapter
  const marks = [backend, ...(software ? ['software'] : []), ...(copies > 1 ? [`${copy + 1} of ${copies} alike`] : [])]
  const lines = [`  ${name} (${marks.join(', ')})`]
  if (details !== undefined) {
    const limits = SHOWN_LIMITS.map((limit) => `${limit} ${details.limits[limit] ?? 'unknown'}`)
    lines.push(`    driver: ${details.driver || 'unknown'}; circuits up to a domain of 2^${maxLog2Domain}`)
    lines.push(...limits.map((limit) => `    ${limit}`))
  }
  const time = selfTestMs === undefined ? '' : ` in ${selfTestMs} ms`
  lines.push(`    self-test: ${selfTest}${time}${reason === undefined ? '' : `: ${reason}`}`)
  return lines
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, k) => Math.max(title.length, ...rows.map((row) => row[k]?.length ?? 0)))
  return [head, ...rows].map((row) => `  ${row.map((cell, k) => cell.padEnd(widths[k] ?? 0)).join('  ')}`.trimEnd())
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`
