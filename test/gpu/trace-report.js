/**
 * Where a device waits, or works for too long, by a timeline that `bench-full.js --trace` wrote:
 *
 *     node test/gpu/trace-report.js FILE[.gz] [--gap 20] [--unit 200]
 *
 * Gaps between units and units of more milliseconds than these, each with what happened meanwhile: buffers made and
 * destroyed, turns of the event loop, steps and transfers that were under way; then the buffers by size, and how much
 * of the device's memory was in use.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { gap: { type: 'string', default: '20' }, unit: { type: 'string', default: '200' } },
})
const [file] = positionals
if (file === undefined) throw new Error('expected a file')
const bytes = readFileSync(file)
/** @type {import('./trace.js').TraceEvent[]} */
const events = JSON.parse(file.endsWith('.gz') ? gunzipSync(bytes) : bytes)

const at = (ms) => `${(ms / 1e6).toFixed(3)} s`
const millis = (us) => `${(us / 1e3).toFixed(0)} ms`
const gib = (count) => `${(count / 2 ** 30).toFixed(2)} GiB`
const end = ({ ts, dur }) => ts + dur
const of = (...categories) => events.filter(({ cat }) => categories.includes(cat)).sort((a, b) => a.ts - b.ts)
const during = (list, from, to) => list.filter((event) => event.ts < to && end(event) > from)

const units = of('unit').filter(({ args }) => args.batch !== undefined)
const host = of('host')
const loops = of('loop')
const under = of('step', 'transfer', 'partition')

/** What the host did in a time, in one line a kind. */
function meanwhile(from, to) {
  const calls = new Map()
  for (const { name, dur, args } of during(host, from, to)) {
    const sum = calls.get(name) ?? { count: 0, us: 0, bytes: 0 }
    calls.set(name, { count: sum.count + 1, us: sum.us + dur, bytes: sum.bytes + (args.bytes ?? 0) })
  }
  const parts = [...calls].map(([name, { count, us, bytes }]) => `${count} ${name} ${millis(us)} ${gib(bytes)}`)
  const longest = during(loops, from, to).reduce((most, { dur }) => Math.max(most, dur), 0)
  if (longest > 0) parts.push(`event loop busy for ${millis(longest)}`)
  return parts.join(', ') || 'nothing of the host'
}

/** Steps under way throughout. */
const steps = (from, to) =>
  under
    .filter((event) => event.ts <= from + 1000 && end(event) >= to - 1000)
    .map(({ name, args }) => `${name}${args.partition === undefined ? ` (${args.batch})` : ` of ${args.partition}`}`)
    .join(', ')

const first = units[0]
const last = units[units.length - 1]
if (first === undefined || last === undefined) throw new Error('no units')
const busy = units.reduce((sum, { dur }) => sum + dur, 0)
console.log(`${units.length} units, ${at(busy)} of ${at(end(last) - first.ts)} between the first and the last`)

const gaps = []
let before = first
for (const unit of units) {
  if (unit.ts > end(before)) gaps.push({ from: end(before), to: unit.ts, before, unit })
  if (end(unit) > end(before)) before = unit
}
for (const [low, high] of [
  [0, 1],
  [1, 5],
  [5, 20],
  [20, 1e9],
]) {
  const among = gaps.filter(({ from, to }) => to - from >= low * 1e3 && to - from < high * 1e3)
  const sum = among.reduce((total, { from, to }) => total + to - from, 0)
  console.log(`gaps of ${low} to ${high === 1e9 ? '∞' : high} ms: ${among.length}, ${millis(sum)}`)
}
const pairs = new Map()
for (const { from, to, before: a, unit: b } of gaps) {
  const key = `${a.name} → ${b.name}${a.args.batch === b.args.batch ? '' : ', another partition'}`
  const { count, us } = pairs.get(key) ?? { count: 0, us: 0 }
  pairs.set(key, { count: count + 1, us: us + to - from })
}
console.log('\ngaps by the units around them')
for (const [key, { count, us }] of [...pairs].sort((a, b) => b[1].us - a[1].us).slice(0, 15))
  console.log(`  ${key}: ${millis(us)} in ${count}`)

console.log(`\ngaps of more than ${values.gap} ms`)
for (const { from, to, before: a, unit: b } of gaps.filter(({ from, to }) => to - from > Number(values.gap) * 1e3)) {
  console.log(`  ${at(from)}: ${millis(to - from)} between ${a.name} (${a.args.batch}) and ${b.name} (${b.args.batch})`)
  console.log(`    ${meanwhile(from, to)}\n    ${steps(from, to)}`)
}
console.log(`\nunits of more than ${values.unit} ms`)
for (const unit of units.filter(({ dur }) => dur > Number(values.unit) * 1e3)) {
  console.log(
    `  ${at(unit.ts)}: ${unit.name} (${unit.args.batch}) ${millis(unit.dur)}: ${meanwhile(unit.ts, end(unit))}`,
  )
}

console.log('\nbuffers made')
const sizes = new Map()
for (const { name, dur, args } of host) {
  if (args.label === undefined) continue
  const key = `${name} ${args.label.replace(/ \d+$/, '')}, ${(args.bytes / 2 ** 20).toFixed(1)} MiB`
  const { count, us } = sizes.get(key) ?? { count: 0, us: 0 }
  sizes.set(key, { count: count + 1, us: us + dur })
}
for (const [key, { count, us }] of sizes) console.log(`  ${key}: ${count}, ${millis(us)}`)
const memory = events.filter(({ ph }) => ph === 'C').map(({ ts, args }) => ({ ts, ...args }))
console.log('\ndevice memory: allocated, in use')
let told = Number.NEGATIVE_INFINITY
for (const { ts, allocated, used } of memory) {
  if (ts - told < 1e6) continue
  told = ts
  console.log(`  ${at(ts)}: ${gib(allocated)}, ${gib(used)}`)
}
