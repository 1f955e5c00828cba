/** The bench's report for people. */
import type { DeviceRates, PerGroup } from '../groth16/device-rates.ts'
import type { BenchReport } from './bench.ts'
import { table } from './table.ts'

export function benchText(report: BenchReport): string {
  const { rates, estimates, proofs, adapter, warnings } = report
  const driver = adapter === undefined ? '' : `, driver ${adapter.driver || 'unknown'}`
  const lines = [
    `wgzk on ${report.platform}, Node ${report.node}; ${report.cpu.model}, ${report.cpu.cores} cores`,
    `${report.device}${driver}; opened in ${report.openMs.toFixed(0)} ms`,
    '',
    ...ratesLines(rates),
    '',
    'By these rates, on the device alone and with the points in its memory',
    ...table(
      ['circuit', 'partitions', 'proof', 'importing the points'],
      estimates.map(({ circuitId, partitions, proofMs, importMs }) => [
        circuitId,
        String(partitions),
        duration(proofMs),
        duration(importMs),
      ]),
    ),
  ]
  if (proofs.length > 0) {
    lines.push('', 'One partition on the device, with a random witness')
    lines.push(
      ...table(
        ['circuit', 'parameters', 'load', 'first', 'next, at best', 'points'],
        proofs.map(({ circuitId, development, loadMs, firstMs, nextMs, keptPoints }) => [
          circuitId,
          development ? 'development' : 'published',
          duration(loadMs),
          duration(firstMs),
          nextMs.length === 0 ? '' : duration(Math.min(...nextMs)),
          keptPoints ? 'kept' : 'read each time',
        ]),
      ),
    )
  }
  if (warnings.length > 0) lines.push('', ...warnings.map((warning) => `Warning: ${warning}`))
  return lines.join('\n')
}

/** Rates, one a line. */
export function ratesLines(rates: DeviceRates): string[] {
  const both = ({ g1, g2 }: PerGroup): string => `${nanoseconds(g1)} in G1, ${nanoseconds(g2)} in G2`
  return [
    `Measured on a domain of 2^${rates.log2Domain}`,
    `  assignment and rows: ${nanoseconds(rates.rowNs)} a row, ${nanoseconds(rates.scalarNs)} more a full scalar`,
    `  quotient (six transforms): ${nanoseconds(rates.quotientNs)} an element`,
    `  sum over a few points: ${duration(rates.sumMs.g1)} in G1, ${duration(rates.sumMs.g2)} in G2`,
    `  sum over full scalars: ${both(rates.sumNs)} a point`,
    `  sum over bits: ${both(rates.bitNs)} a point`,
    `  import of points: ${both(rates.importNs)} a point`,
  ]
}

const nanoseconds = (ns: number): string => (ns < 1000 ? `${digits(ns)} ns` : `${digits(ns / 1000)} µs`)

export function duration(ms: number): string {
  if (ms < 1000) return `${digits(ms)} ms`
  return ms < 600_000 ? `${digits(ms / 1000)} s` : `${digits(ms / 60_000)} min`
}

/** Three digits that count, and no exponent. */
const digits = (value: number): string => (value < 100 ? value.toPrecision(3) : value.toFixed(0))
