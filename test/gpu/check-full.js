/**
 * Whether all parts of a proof of any size agree, by identities that need no reference: with the secrets of a set-up
 * known, each sum over points is a number times the generator.
 *
 *     node test/gpu/check-full.js CIRCUIT [--inputs=FOLDER|ARCHIVE.tar.xz] [--shards=log2] [--every=1] [--software]
 *
 * Rows against columns (a·L = z·A(τ), b·L = z·B(τ), (a∘b)·L = z·C(τ)); the quotient (h(τ) Z = a·b − c); the scalars of
 * each query; a few points of every range against multiples by bigints; the sum over every range, and over every query
 * as a proof makes it. Without `--inputs` the recorded request of a 2 KiB circuit is taken.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { circuitShape } from '../../src/circuit/circuit-shape.ts'
import { WasmPoseidonHasher } from '../../src/cpu/poseidon.ts'
import { decodeSumG1, decodeSumG2 } from '../../src/curve/encoding.ts'
import { G1, G2 } from '../../src/curve/points.ts'
import { frInv, frMul, frReduce } from '../../src/field/fr.ts'
import { paramsLayout, QUERIES, QUERY_GROUP } from '../../src/params/layout.ts'
import { takeOver } from '../../src/request/partitions.ts'
import { validateRequest } from '../../src/request/validate.ts'
import { drawToxicWaste } from '../../src/srs/toxic-waste.ts'
import { checkAndSynthesize } from '../../src/synthesis/synthesize.ts'
import { POINT_BYTES } from '../../src/webgpu/curve/batch-affine.ts'
import { Elements } from '../../src/webgpu/elements.ts'
import { Gpu } from '../../src/webgpu/gpu.ts'
import { multiexp } from '../../src/webgpu/msm/multiexp.ts'
import { FQ, FR, unpackMontgomery } from '../../src/webgpu/prelude/digit-field.ts'
import { computeColumns } from '../../src/webgpu/setup/columns.ts'
import { computeLagrange } from '../../src/webgpu/setup/lagrange.ts'
import { QueryScalars } from '../../src/webgpu/setup/query-scalars.ts'
import { UnitStream } from '../../src/webgpu/unit-stream.ts'
import { WebGpuDevice } from '../../src/webgpu/webgpu-device.ts'
import { snapRequest, windowRequest, winningRequest } from '../support/fixtures.ts'
import { peerRequest } from '../support/peer-request.ts'
import { porepRequest } from '../support/porep.ts'
import { removeDirectory, temporaryDirectory } from '../support/temporary-directory.ts'
import { plainOf } from './harness.ts'

const option = (name) => {
  const found = process.argv.find((argument) => argument.startsWith(`--${name}=`))
  return found?.slice(name.length + 3)
}
const circuitId = process.argv.slice(2).find((argument) => !argument.startsWith('--'))
const every = Number(option('every') ?? 1)
const RECORDED = {
  'wpost-2k': windowRequest,
  'winning-2k': winningRequest,
  'porep-2k': porepRequest,
  'snap-2k': snapRequest,
}

const scratch = temporaryDirectory()
function requestOf(path) {
  if (path === undefined) return RECORDED[circuitId]()
  if (statSync(path).isDirectory()) return peerRequest(path)
  const folder = join(scratch, 'inputs')
  mkdirSync(folder)
  execFileSync('tar', ['-xJf', path, '-C', folder])
  const [inner, ...others] = readdirSync(folder)
  return peerRequest(others.length === 0 ? join(folder, inner) : folder)
}

const start = performance.now()
let wrong = 0
function verdict(what, holds, more = '') {
  if (!holds) wrong++
  console.log(`${((performance.now() - start) / 1000).toFixed(1)} s  ${holds ? 'ok   ' : 'WRONG'} ${what} ${more}`)
}
const run = { signal: new AbortController().signal, unit: () => {} }

const bindingBytes = option('shards') === undefined ? undefined : 32 * 2 ** Number(option('shards'))
const gpu = await Gpu.open({ allowSoftware: process.argv.includes('--software'), bindingBytes })
console.log(`${gpu.info.name}: ${circuitId}, shards of ${gpu.bindingBytes} bytes`)
const device = new WebGpuDevice(gpu)

const DOT = {
  name: 'dot product',
  fields: [{ field: FR }],
  parts: ['invocation.wgsl', 'test/dot.wgsl'],
  entry: 'dot_product',
  bindings: ['read', 'read', 'read', 'read_write', 'uniform'],
}
const THREADS = 2 ** 13
await gpu.prepare([DOT])

/** Σ of products of two or three vectors, each a list of ranges that begin and end together. */
async function dot(parts) {
  const partials = await gpu.allocate(32 * THREADS, 'partials')
  let commands = gpu.commands('dot product').clear(partials, 0, 32 * THREADS)
  for (const { x, y, w, count } of parts) {
    commands.dispatch(DOT, {
      buffers: [x.buffer, y.buffer, (w ?? x).buffer, partials],
      params: [count, THREADS, x.first, y.first, w?.first ?? 0, w === undefined ? 2 : 4],
      workgroups: THREADS / 64,
    })
    if (commands.size < 16) continue
    await commands.submit()
    commands = gpu.commands('dot product')
  }
  await commands.submit()
  const bytes = await gpu.download(partials, 0, 32 * THREADS)
  gpu.release(partials)
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, 8 * THREADS)
  let sum = 0n
  for (let t = 0; t < THREADS; t++) sum += plainOf(words.subarray(8 * t, 8 * t + 8))
  return frReduce(sum)
}

/** Ranges of vectors over shards of the same size, side by side. */
function aligned(count, ...vectors) {
  const parts = []
  const size = 2 ** vectors[0].shardLog2
  for (let at = 0; at < count; at += size) {
    const [x, y, w] = vectors.map((vector) => ({ buffer: vector.shards[at / size], first: 0 }))
    parts.push({ x, y, w, count: Math.min(size, count - at) })
  }
  return parts
}

/** A buffer against a part of a vector. */
const against = (buffer, vector, first, count) =>
  vector.ranges(first, count).map((range) => ({ x: { buffer, first: range.at }, y: range, count: range.count }))

const shape = circuitShape(circuitId)
const { inputs, aux, constraints, log2Domain } = shape
const toxic = drawToxicWaste(log2Domain)
const { alpha, beta, gamma, delta, tau } = toxic
const partitions = await takeOver(validateRequest(requestOf(option('inputs'))))
const witness = await checkAndSynthesize(partitions[0], new WasmPoseidonHasher(), run)
console.log(`${((performance.now() - start) / 1000).toFixed(1)} s  synthesized`)

const lagrange = await Elements.allocate(gpu, constraints + inputs, 'Lagrange values')
const columns = await computeColumns(gpu, shape, toxic, run)
await computeLagrange(gpu, new UnitStream(gpu, 'Lagrange values', run, 1), lagrange, log2Domain, tau)
const setupScalars = await QueryScalars.create(gpu, shape, toxic, columns)
const deviceShape = await device.loadShape(shape)
const assignment = await device.assign(deviceShape, witness, run)

// z against columns.
const CHUNK = 2 ** 21
const z = { u: 0n, v: 0n, combined: 0n }
const publicInputs = await gpu.allocate(32 * inputs, 'public inputs')
await gpu.upload(publicInputs, 0, witness.inputs)
const ofInputs = {}
for (const name of ['u', 'v', 'combined']) {
  ofInputs[name] = await dot(against(publicInputs, columns[name], 0, inputs))
  z[name] = ofInputs[name]
}
for (let first = 0; first < aux; first += CHUNK) {
  const count = Math.min(CHUNK, aux - first)
  const scalars = await assignment.scalars('l', first, count)
  for (const name of ['u', 'v', 'combined']) {
    z[name] += await dot(against(scalars.buffer, columns[name], inputs + first, count))
  }
  scalars.release()
}
const [zA, zB] = [frReduce(z.u), frReduce(z.v)]
const zC = frReduce(z.combined - beta * zA - alpha * zB)

// Rows against columns, from within the quotient: it spoils the rows.
const compute = deviceShape.domain.compute.bind(deviceShape.domain)
Object.defineProperty(deviceShape.domain, 'compute', {
  value: async (a, b, of) => {
    const rows = constraints + inputs
    verdict('rows a against columns of A', (await dot(aligned(rows, a, lagrange))) === zA)
    verdict('rows b against columns of B', (await dot(aligned(rows, b, lagrange))) === zB)
    verdict('rows a∘b against columns of C', (await dot(aligned(rows, a, lagrange, b))) === zC)
    await compute(a, b, of)
  },
})
await device.quotient(assignment, run)

const { queries } = paramsLayout(shape)
const generators = { g1: G1.BASE, g2: G2.BASE }
const setup = await device.openSetup(shape, toxic, run)
console.log(
  `${((performance.now() - start) / 1000).toFixed(1)} s  set up, ${(gpu.allocatedBytes / 2 ** 30).toFixed(1)} GiB`,
)
const multiple = (group, scalar) =>
  scalar === 0n ? generators[group].subtract(generators[group]) : generators[group].multiplyUnsafe(scalar)
const decoded = (group, bytes) => (group === 'g1' ? decodeSumG1(bytes) : decodeSumG2(bytes))

/** A few points of a range against the multiples that they have to be. */
async function wrongPoints({ buffer, group, count }, scalars) {
  const bytes = POINT_BYTES[group]
  for (const k of new Set([0, Math.floor(count / 3), count - 1])) {
    const [point, scalar] = [await gpu.download(buffer, k * bytes, bytes), await gpu.download(scalars, 32 * k, 32)]
    const { x } = multiple(group, plainOf(new Uint32Array(scalar.buffer, scalar.byteOffset, 8))).toAffine()
    const words = new Uint32Array(point.buffer, point.byteOffset, bytes / 4)
    const got = unpackMontgomery(words.subarray(0, FQ.words), FQ)
    if (got !== (typeof x === 'bigint' ? x : x.c0)) return `point ${k}`
  }
  return undefined
}

const totals = {}
for (const query of QUERIES) {
  const group = QUERY_GROUP[query]
  const { points } = queries[query]
  const count = Math.ceil(points / device.rangePoints(group))
  let total = 0n
  let sum = multiple(group, 0n)
  const bad = []
  for (let k = 0; k < count; k++) {
    const first = Math.floor((points * k) / count)
    const size = Math.floor((points * (k + 1)) / count) - first
    const own = await gpu.allocate(32 * size, 'scalars')
    await setupScalars.fill(query, first, size, own, run)
    const scalars = await assignment.scalars(query, first, size)
    const expected = await dot([{ x: { buffer: scalars.buffer, first: 0 }, y: { buffer: own, first: 0 }, count: size }])
    total += expected
    if (k % every === 0) {
      const made = await setup.points({ query, first, count: size }, run)
      const point = await wrongPoints(made, own)
      if (point !== undefined) bad.push(`${point} of range ${k} (${first} and on)`)
      const direct = await multiexp(gpu, group, made.buffer, scalars.buffer, scalars.first, size, run)
      if (!decoded(group, direct).equals(multiple(group, expected))) bad.push(`sum of range ${k} (${first} and on)`)
      if (every === 1) {
        const [part] = await device.multiexp(made, query, first, [assignment], run)
        sum = sum.add(decoded(group, part))
      }
      made.release()
    }
    scalars.release()
    gpu.release(own)
  }
  totals[query] = frReduce(total)
  verdict(`${query}: points and sums of ${count} ranges`, bad.length === 0, bad.slice(0, 6).join(', '))
  if (every === 1) verdict(`${query}: sum as a proof makes it`, sum.equals(multiple(group, totals[query])))
}

const { h, l, a, b_g1, b_g2 } = totals
verdict('quotient: h(τ) Z = a b − c', frMul(delta, h) === frReduce(zA * zB - zC))
verdict('scalars of a', a === zA)
verdict('scalars of b', b_g1 === zB && b_g2 === zB)
verdict('scalars of l', l === frMul(frInv(delta), frReduce(z.combined - ofInputs.combined)))
const left = frMul(frReduce(alpha + a), frReduce(beta + b_g2))
const right = frReduce(frMul(alpha, beta) + ofInputs.combined + delta * (l + h))
verdict('the equation of verification', left === right && gamma !== 0n)
console.log(wrong === 0 ? 'all hold' : `${wrong} do not hold`)
await gpu.close()
removeDirectory(scratch)
process.exitCode = wrong === 0 ? 0 : 1
