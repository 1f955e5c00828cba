/**
 * The scalars of a set-up in WebAssembly: what the generators of an SRS are multiplied with.
 *
 * With m the size of the domain, w a primitive m-th root of unity, Z = tau^m − 1 and L_i = Z/m · w^i / (tau − w^i), the
 * columns of the constraints at tau are u_j = Σ A[i,j] · L_i, v_j and w_j likewise of B and C; the rows {input_k} · 0 =
 * 0 that bellperson appends (`generate_parameters`) count to A. Then h_i = tau^i · Z/delta, ic_j and l_j = (beta · u_j
 * + alpha · v_j + w_j) / (gamma or delta), a_j = u_j and b_j = v_j where a variable occurs in A or B.
 */
import { testBit } from '../circuit/bit-array.ts'
import type { BitArray, CircuitShape } from '../circuit/shape.ts'
import { frInv, frMul, frPow, frReduce, frToBytes } from '../field/fr.ts'
import type { Run } from '../groth16/proving-device.ts'
import type { Query } from '../params/layout.ts'
import { LIMB_RECORD_BYTES, montgomeryRecords } from './circuit-machine/limbs.ts'
import { MODE } from './circuit-machine/module.ts'
import { placeBytes } from './circuit-machine/tables.ts'
import { CircuitMachine } from './circuit-machine.ts'
import { rootOfUnity } from './ntt/domain.ts'

const SCALAR_BYTES = 32
/** Scalars made in one call: some milliseconds, and one inversion. */
const CHUNK = 8192

/** Secrets of a set-up, canonical. */
export interface SetupSecrets {
  readonly alpha: bigint
  readonly beta: bigint
  readonly gamma: bigint
  readonly delta: bigint
  readonly tau: bigint
}

/** Scalars 32 bytes little-endian each, in the order of a parameter file's queries. */
export interface WasmSetupScalars {
  readonly ic: Uint8Array
  /**
   * Those of the points `first` up to `first + count`.
   * @throws {RangeError} the query has fewer points
   * @throws {Error} a column vanishes at tau, so that its point would be infinity: draw again
   */
  query(query: Query, first: number, count: number): Uint8Array
}

/**
 * Computes the columns at tau (about 0.6 s for the 370,590 rows of a 32 GiB WinningPoSt) and keeps them in a memory of
 * its own (32 bytes · (rows + 4 · variables)) for as long as the result lives.
 * @throws {Error} tau is in the domain, or a variable is in no constraint
 * @throws {RangeError} the circuit exceeds WebAssembly's memory
 * @throws `run.signal.reason` once aborted
 */
export async function wasmSetupScalars(
  shape: CircuitShape,
  secrets: SetupSecrets,
  run?: Run,
): Promise<WasmSetupScalars> {
  const columns = new Columns(shape, secrets)
  await columns.compute(run)
  return columns
}

class Columns implements WasmSetupScalars {
  readonly #shape: CircuitShape
  readonly #secrets: SetupSecrets
  readonly #machine: CircuitMachine = new CircuitMachine()
  readonly #keys: number
  readonly #u: number
  readonly #v: number
  /** w at first, then beta · u + alpha · v + w. */
  readonly #combined: number
  readonly #out: number
  readonly #space: number
  readonly #zOverDelta: bigint
  readonly #dense: Readonly<Record<'a' | 'b', Uint32Array>>

  constructor(shape: CircuitShape, secrets: SetupSecrets) {
    this.#shape = shape
    this.#secrets = secrets
    const { arena } = this.#machine
    this.#keys = shape.inputs + shape.aux
    const [u, v, combined] = [0, 1, 2].map(() => arena.allocate(SCALAR_BYTES * this.#keys)) as [number, number, number]
    this.#u = u
    this.#v = v
    this.#combined = combined
    this.#out = arena.allocate(SCALAR_BYTES * CHUNK)
    this.#space = arena.allocate(LIMB_RECORD_BYTES * CHUNK)
    const z = frReduce(frPow(secrets.tau, 1n << BigInt(shape.log2Domain)) - 1n)
    if (z === 0n) throw new Error('tau is in the evaluation domain: draw again')
    this.#zOverDelta = frMul(z, frInv(secrets.delta))
    const { aAux, bAux } = shape.density
    this.#dense = {
      a: denseKeys(shape.inputs, shape, aAux, shape.density.aAuxCount),
      b: denseKeys(1, shape, bAux, shape.density.bAuxCount),
    }
  }

  get ic(): Uint8Array {
    return this.#scaled(0, this.#shape.inputs, frInv(this.#secrets.gamma))
  }

  query(query: Query, first: number, count: number): Uint8Array {
    const { inputs, aux, log2Domain } = this.#shape
    const points = {
      h: 2 ** log2Domain - 1,
      l: aux,
      a: this.#dense.a.length,
      b_g1: this.#dense.b.length,
      b_g2: this.#dense.b.length,
    }[query]
    if (!(first >= 0 && count >= 0 && first + count <= points)) {
      throw new RangeError(`The query ${query} has ${points} points, not ${first} to ${first + count}`)
    }
    switch (query) {
      case 'h':
        return this.#powersOfTau(first, count)
      case 'l':
        return this.#scaled(inputs + first, count, frInv(this.#secrets.delta))
      case 'a':
        return this.#gather(this.#u, this.#dense.a.subarray(first, first + count))
      case 'b_g1':
      case 'b_g2':
        return this.#gather(this.#v, this.#dense.b.subarray(first, first + count))
    }
  }

  async compute(run: Run | undefined): Promise<void> {
    const machine = this.#machine
    const { exports, memory, arena } = machine
    const shape = this.#shape
    const rows = shape.constraints + shape.inputs
    const lagrange = arena.allocate(SCALAR_BYTES * rows)
    await this.#lagrange(lagrange, rows)
    for (const at of [this.#u, this.#v, this.#combined]) {
      new Uint8Array(memory.buffer, at, SCALAR_BYTES * this.#keys).fill(0)
    }
    const circuit = machine.load(shape)
    exports.bindTranspose(lagrange, this.#u, this.#v, this.#combined)
    await machine.walkUnbound(circuit, MODE.transpose, run)
    circuit.release()
    exports.accumulate(this.#u, lagrange + SCALAR_BYTES * shape.constraints, shape.inputs)
    arena.free(lagrange)
    const { alpha, beta } = this.#secrets
    this.#withFactors([beta, alpha, 1n], ([b, a, one]) =>
      exports.combine(
        this.#combined,
        this.#keys,
        this.#u,
        this.#v,
        this.#combined,
        b as number,
        a as number,
        one as number,
      ),
    )
    this.#requireNonzero(
      new Uint8Array(memory.buffer, this.#combined, SCALAR_BYTES * this.#keys),
      (i) => `Variable ${i} is in no constraint`,
    )
  }

  async #lagrange(out: number, rows: number): Promise<void> {
    const { log2Domain } = this.#shape
    const { tau } = this.#secrets
    const m = 1n << BigInt(log2Domain)
    const root = rootOfUnity(log2Domain)
    const scale = frMul(frReduce(frPow(tau, m) - 1n), frInv(m))
    for (let first = 0; first < rows; first += CHUNK) {
      const count = Math.min(CHUNK, rows - first)
      this.#withFactors([frPow(root, BigInt(first)), root, scale], ([start, w, z], tauAt) =>
        this.#machine.exports.lagrangeCoefficients(
          out + SCALAR_BYTES * first,
          count,
          start as number,
          w as number,
          tauAt,
          z as number,
          this.#space,
        ),
      )
    }
  }

  #powersOfTau(first: number, count: number): Uint8Array {
    const { tau } = this.#secrets
    const start = frMul(frPow(tau, BigInt(first)), this.#zOverDelta)
    const jump = frPow(tau, BigInt(CHUNK))
    let power = start
    return this.#chunks(count, (_, chunk) => {
      this.#withFactors([power, tau], ([p, t]) =>
        this.#machine.exports.powers(this.#out, chunk, p as number, t as number),
      )
      power = frMul(power, jump)
    })
  }

  #scaled(firstKey: number, count: number, factor: bigint): Uint8Array {
    return this.#chunks(count, (done, chunk) =>
      this.#withFactors([factor], ([f]) =>
        this.#machine.exports.scale(this.#out, chunk, this.#combined + SCALAR_BYTES * (firstKey + done), f as number),
      ),
    )
  }

  /** Fills `#out` chunk by chunk and collects. */
  #chunks(count: number, fill: (done: number, chunk: number) => void): Uint8Array {
    const all = new Uint8Array(SCALAR_BYTES * count)
    for (let done = 0; done < count; done += CHUNK) {
      const chunk = Math.min(CHUNK, count - done)
      fill(done, chunk)
      all.set(new Uint8Array(this.#machine.memory.buffer, this.#out, SCALAR_BYTES * chunk), SCALAR_BYTES * done)
    }
    return all
  }

  #gather(values: number, keys: Uint32Array): Uint8Array {
    const memory = new Uint8Array(this.#machine.memory.buffer)
    const all = new Uint8Array(SCALAR_BYTES * keys.length)
    for (const [i, key] of keys.entries()) {
      const at = values + SCALAR_BYTES * key
      all.set(memory.subarray(at, at + SCALAR_BYTES), SCALAR_BYTES * i)
    }
    this.#requireNonzero(all, (i) => `The column of variable ${keys[i]} vanishes at tau`)
    return all
  }

  #requireNonzero(scalars: Uint8Array, message: (index: number) => string): void {
    const words = new Uint32Array(scalars.buffer, scalars.byteOffset, scalars.byteLength / 4)
    for (let i = 0; i < words.length; i += 8) {
      let any = 0
      for (let k = 0; k < 8; k++) any |= words[i + k] as number
      if (any === 0) throw new Error(message(i / 8))
    }
  }

  /** Lends addresses of factors in Montgomery form, and of tau in bytes, and wipes them. */
  #withFactors(factors: readonly bigint[], body: (addresses: readonly number[], tau: number) => void): void {
    const { memory, arena } = this.#machine
    const records = montgomeryRecords(factors)
    const bytes = records.byteLength + SCALAR_BYTES
    const block = arena.allocate(bytes)
    const tauAt = block + records.byteLength
    try {
      placeBytes(memory, block, records)
      placeBytes(memory, tauAt, frToBytes(this.#secrets.tau))
      body(
        factors.map((_, i) => block + LIMB_RECORD_BYTES * i),
        tauAt,
      )
    } finally {
      new Uint8Array(memory.buffer, block, bytes).fill(0)
      arena.free(block)
    }
  }
}

/** Keys of the first `inputs` inputs and of the aux variables of a density. */
function denseKeys(inputs: number, shape: CircuitShape, density: BitArray, count: number): Uint32Array {
  const words = new Uint32Array(density.buffer, density.byteOffset, density.byteLength / 4)
  const keys = new Uint32Array(inputs + count)
  for (let k = 0; k < inputs; k++) keys[k] = k
  let next = inputs
  for (let j = 0; j < shape.aux; j++) if (testBit(words, j)) keys[next++] = shape.inputs + j
  return keys
}
