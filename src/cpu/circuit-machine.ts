/**
 * Walks circuits on the calling thread, in a WebAssembly memory of its own: digests, checks, assignments, and the
 * products that a set-up needs. Long calls are cut in pieces; between them a {@link Run} is told and obeyed, and the
 * event loop gets its turn.
 */
import { setImmediate } from 'node:timers/promises'
import type { RowDigests, RowHasher } from '../circuit/digest.ts'
import type { CircuitShape, CompactWitness } from '../circuit/shape.ts'
import { locateRow } from '../circuit/walk-rows.ts'
import { SynthesisError } from '../errors.ts'
import type { Run } from '../groth16/proving-device.ts'
import { MemoryArena } from './arena.ts'
import { type CircuitExports, instantiateCircuit, MODE } from './circuit-machine/module.ts'
import { type CircuitPlan, type Piece, planCircuit } from './circuit-machine/pieces.ts'
import { CircuitTables, CONTEXT_BYTES, placeBytes } from './circuit-machine/tables.ts'

/** Rows walked in one call, some 50 ms of hashing or evaluating. */
const ROWS_PER_PIECE = 32_768
const ROWS_PER_SECTION = 2 ** 21
const SCRATCH_BYTES = 2 ** 20
const BLAKE2S_STATE_BYTES = 128
const DIGEST_BUFFER_BYTES = 2 ** 16
/** Pairs of key and coefficient that the digest sorts. */
const SORT_BYTES = 8 * 4096
const MAXIMUM_PAGES = 65_536
const PAGE_BYTES = 65_536
const INITIAL_PAGES = 48
/** How long to compute before the event loop gets a turn. */
const TURN_MS = 40

/** BLAKE2s-256 digests of a full witness, hex; scalars as 32 bytes little-endian. */
export interface WitnessDigests {
  /** All inputs, ONE first. */
  readonly inputs: string
  readonly aux: string
  /** A·z, B·z and C·z a row, without the rows that are appended for the inputs. */
  readonly products: { readonly a: string; readonly b: string; readonly c: string }
}

/** A row that does not hold. */
export interface CheckFailure {
  /** Number in the circuit. */
  readonly row: number
  /** Name of the template that the row belongs to, and the row's number there. */
  readonly template: string
  readonly templateRow: number
  /** The instance: names from the root's child down, each with its number among the children of the one before. */
  readonly path: string
}

/** What {@link CircuitMachine.check} found. */
export interface CheckResult {
  /** The first row in which A·z · B·z ≠ C·z; undefined if the witness satisfies the circuit. */
  readonly failure: CheckFailure | undefined
  readonly digests: WitnessDigests | undefined
}

/** What {@link CircuitMachine.check} is asked for. */
export interface CheckOptions {
  /** Also compute {@link CheckResult.digests}. */
  readonly digests?: boolean | undefined
  /**
   * Rows whose aux variables are in memory at a time, where the circuit can be cut.
   * @default 2^21, some 64 MB
   */
  readonly rowsPerSection?: number | undefined
  readonly run?: Run | undefined
}

type Four = [number, number, number, number]

/**
 * One instance of `circuit.wasm` with a memory that grows as needed, up to 4 GiB; used from one thread, one call at a
 * time. The memory goes with the object: there is nothing to close.
 */
export class CircuitMachine implements RowHasher {
  readonly memory: WebAssembly.Memory
  readonly arena: MemoryArena
  /** Exports of the module on {@link memory}, for the neighbours of this class. */
  readonly exports: CircuitExports
  readonly #context: number
  readonly #piece: number

  constructor() {
    this.memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAXIMUM_PAGES, shared: true })
    this.arena = new MemoryArena(this.memory, MAXIMUM_PAGES)
    this.exports = instantiateCircuit(this.memory)
    this.exports.bindScratch(this.arena.allocate(SCRATCH_BYTES), SCRATCH_BYTES)
    this.#context = this.arena.allocate(CONTEXT_BYTES)
    this.#piece = this.arena.allocate(PAGE_BYTES)
  }

  /**
   * Prepares a circuit; the other methods take it.
   * @throws {Error} the shape contradicts itself
   */
  load(shape: CircuitShape): CircuitTables {
    return new CircuitTables(this, shape)
  }

  /** Hashes all rows of a circuit, for `circuitDigest`. */
  async hashRows(shape: CircuitShape, header: Uint8Array, every?: number, run?: Run): Promise<RowDigests> {
    const circuit = this.load(shape)
    try {
      return await this.#hashRows(circuit, header, every ?? 0, run)
    } finally {
      circuit.release()
    }
  }

  async #hashRows(
    circuit: CircuitTables,
    header: Uint8Array,
    every: number,
    run: Run | undefined,
  ): Promise<RowDigests> {
    const { exports, memory } = this
    const plan = planCircuit(circuit.shape, circuit.image, ROWS_PER_PIECE)
    const pieces = plan.sections.flatMap((section) => section.pieces)
    const most = every > 0 ? Math.floor(Math.max(...pieces.map((piece) => piece.rows)) / every) + 1 : 0
    const bytes = 4 * BLAKE2S_STATE_BYTES + DIGEST_BUFFER_BYTES + SORT_BYTES + header.length + 32 * most
    return await this.#withBlock(bytes, async (block) => {
      const [hash, stream, copy, result] = [0, 1, 2, 3].map((i) => block + i * BLAKE2S_STATE_BYTES) as Four
      const buffer = block + 4 * BLAKE2S_STATE_BYTES
      const sort = buffer + DIGEST_BUFFER_BYTES
      const list = sort + SORT_BYTES
      const headerAt = list + 32 * most
      exports.blake2sInit(hash)
      exports.blake2sInit(stream)
      placeBytes(memory, headerAt, header)
      exports.blake2sUpdate(hash, headerAt, header.length)
      circuit.writeContext(this.#context, {}, true)
      const checkpoints: Uint8Array[] = []
      let rows = 0
      for (const piece of pieces) {
        const until = every > 0 ? every - (rows % every) : 0
        exports.bindDigest(buffer, DIGEST_BUFFER_BYTES, hash, stream, copy, sort, every, until, list, headerAt)
        this.#walk(piece, MODE.digest)
        exports.flushDigest()
        const count = every > 0 ? Math.floor((rows + piece.rows) / every) - Math.floor(rows / every) : 0
        for (let i = 0; i < count; i++) checkpoints.push(this.#bytes(list + 32 * i, 32))
        rows += piece.rows
        await turn(run, rows / circuit.shape.constraints)
      }
      const digest = (state: number): Uint8Array => {
        exports.blake2sDigest(state, copy, result)
        return this.#bytes(result, 32)
      }
      return { hash: digest(hash), stream: digest(stream), checkpoints }
    })
  }

  /**
   * Evaluates all three sides of every row of a witness. Works section by section, so that also circuits run whose
   * assignment exceeds WebAssembly's memory.
   * @throws {SynthesisError} the witness' lengths are not the circuit's, or a scalar is not canonical
   */
  async check(circuit: CircuitTables, witness: CompactWitness, options: CheckOptions = {}): Promise<CheckResult> {
    const { shape } = circuit
    const { exports } = this
    const plan = planCircuit(shape, circuit.image, ROWS_PER_PIECE, options.rowsPerSection ?? ROWS_PER_SECTION)
    return await this.#withWitness(shape, witness, async (fields) => {
      const largest = plan.sections.slice(1).reduce((most, { aux }) => Math.max(most, aux), 0)
      const fixedKeys = shape.inputs + plan.commonAux
      return await this.#withBlock(32 * fixedKeys, async (fixedBase) =>
        this.#withBlock(32 * largest + 8 * BLAKE2S_STATE_BYTES, async (block) => {
          const states = block
          const auxState = states + 3 * BLAKE2S_STATE_BYTES
          const inputState = states + 4 * BLAKE2S_STATE_BYTES
          const copy = states + 5 * BLAKE2S_STATE_BYTES
          const result = states + 6 * BLAKE2S_STATE_BYTES
          const windowBase = states + 8 * BLAKE2S_STATE_BYTES
          for (let i = 0; i < 5; i++) exports.blake2sInit(states + i * BLAKE2S_STATE_BYTES)
          this.#placeInputs(fixedBase, witness.inputs)
          exports.blake2sUpdate(inputState, fixedBase, witness.inputs.length)
          exports.bindCheck(options.digests === true ? states : 0)
          let rows = 0
          for (const [index, section] of plan.sections.entries()) {
            const isCommon = index === 0
            circuit.writeContext(this.#context, {
              ...fields,
              fixedBase,
              fixedKeys,
              ...(!isCommon && { windowBase, windowFirst: shape.inputs + section.firstAux, windowKeys: section.aux }),
            })
            for (const piece of section.pieces) {
              this.#walk(piece, MODE.expand)
              await turn(options.run, rows / shape.constraints)
            }
            if (options.digests === true) {
              const at = isCommon ? fixedBase + 32 * shape.inputs : windowBase
              exports.blake2sUpdate(auxState, at, 32 * section.aux)
            }
            for (const piece of section.pieces) {
              this.#walk(piece, MODE.check)
              rows += piece.rows
              await turn(options.run, rows / shape.constraints)
            }
            if (exports.failedRow() !== -1 && options.digests !== true) break
          }
          const failed = exports.failedRow() >>> 0
          const digest = (index: number): string => {
            exports.blake2sDigest(states + index * BLAKE2S_STATE_BYTES, copy, result)
            return this.#hex(result)
          }
          return {
            failure: failed === 0xffff_ffff ? undefined : failureAt(shape, failed),
            digests:
              options.digests === true
                ? {
                    inputs: digest((inputState - states) / BLAKE2S_STATE_BYTES),
                    aux: digest((auxState - states) / BLAKE2S_STATE_BYTES),
                    products: { a: digest(0), b: digest(1), c: digest(2) },
                  }
                : undefined,
          }
        }),
      )
    })
  }

  /**
   * The full assignment: inputs, then aux, 32 bytes little-endian each.
   * @throws {SynthesisError} as {@link check}
   */
  async expand(circuit: CircuitTables, witness: CompactWitness, run?: Run): Promise<Uint8Array> {
    const { shape } = circuit
    const keys = shape.inputs + shape.aux
    return await this.#withWitness(shape, witness, async (fields) =>
      this.#withBlock(32 * keys, async (fixedBase) => {
        this.#placeInputs(fixedBase, witness.inputs)
        circuit.writeContext(this.#context, { ...fields, fixedBase, fixedKeys: keys })
        await this.#walkAll(planCircuit(shape, circuit.image, ROWS_PER_PIECE), MODE.expand, run)
        return this.#bytes(fixedBase, 32 * keys)
      }),
    )
  }

  /**
   * Walks every piece of a circuit in a mode that the caller has bound; all keys count as present.
   * @internal
   */
  async walkUnbound(circuit: CircuitTables, mode: number, run?: Run): Promise<void> {
    const { shape } = circuit
    circuit.writeContext(this.#context, { fixedKeys: shape.inputs + shape.aux })
    await this.#walkAll(planCircuit(shape, circuit.image, ROWS_PER_PIECE), mode, run)
  }

  async #walkAll(plan: CircuitPlan, mode: number, run: Run | undefined): Promise<void> {
    const pieces = plan.sections.flatMap((section) => section.pieces)
    for (const [i, piece] of pieces.entries()) {
      this.#walk(piece, mode)
      await turn(run, (i + 1) / pieces.length)
    }
  }

  #walk(piece: Piece, mode: number): void {
    if (piece.words.byteLength > PAGE_BYTES) throw new Error(`A template has ${piece.words.length} wires`)
    placeBytes(this.memory, this.#piece, piece.words)
    this.exports.bindContext(this.#context)
    this.exports.walkPiece(this.#piece, mode)
  }

  async #withWitness<T>(
    shape: CircuitShape,
    { inputs, bits, wide }: CompactWitness,
    body: (fields: { bits: number; bitCount: number; wide: number; wideCount: number }) => Promise<T>,
  ): Promise<T> {
    const { totals } = shape.root
    const expected = [32 * shape.inputs, 8 * Math.ceil(totals.bits / 64), 32 * totals.wide]
    if (inputs.length !== expected[0] || bits.length !== expected[1] || wide.length !== expected[2]) {
      throw new SynthesisError(`The witness of ${shape.circuitId} has wrong lengths`, {
        details: { expected: expected.join(', '), received: [inputs.length, bits.length, wide.length].join(', ') },
      })
    }
    return await this.#withBlock(bits.length + 16, async (bitsAt) =>
      this.#withBlock(wide.length, async (wideAt) => {
        placeBytes(this.memory, bitsAt, bits)
        placeBytes(this.memory, wideAt, wide)
        this.#requireCanonical('wide', wideAt, totals.wide)
        return await body({ bits: bitsAt, bitCount: totals.bits, wide: wideAt, wideCount: totals.wide })
      }),
    )
  }

  #placeInputs(address: number, inputs: Uint8Array): void {
    if (inputs[0] !== 1 || inputs.subarray(1, 32).some((byte) => byte !== 0)) {
      throw new SynthesisError('Input 0 of the witness is not 1', { details: { field: 'inputs[0]' } })
    }
    placeBytes(this.memory, address, inputs)
    this.#requireCanonical('inputs', address, inputs.length / 32)
  }

  #requireCanonical(field: string, address: number, count: number): void {
    const index = this.exports.firstNotCanonical(address, count) >>> 0
    if (index < count) {
      throw new SynthesisError(`Scalar ${index} of the witness (${field}) is not below r`, {
        details: { field: `${field}[${index}]` },
      })
    }
  }

  async #withBlock<T>(bytes: number, body: (address: number) => Promise<T>): Promise<T> {
    const address = this.arena.allocate(bytes)
    try {
      return await body(address)
    } finally {
      this.arena.free(address)
    }
  }

  /** A copy, not shared. */
  #bytes(address: number, bytes: number): Uint8Array {
    return Uint8Array.from(new Uint8Array(this.memory.buffer, address, bytes))
  }

  #hex(address: number): string {
    return Buffer.from(this.#bytes(address, 32)).toString('hex')
  }
}

function failureAt(shape: CircuitShape, row: number): CheckFailure {
  const { template, templateRow, path } = locateRow(shape, row)
  return {
    row,
    template: template.name,
    templateRow,
    path: path.map(({ template: { name }, child }) => `${name}[${child}]`).join('/'),
  }
}

let lastTurn = 0

/** Obeys the signal, reports, and lets timers and messages in now and then. */
async function turn(run: Run | undefined, share: number): Promise<void> {
  run?.signal.throwIfAborted()
  run?.unit(share)
  const now = performance.now()
  if (now - lastTurn > TURN_MS) {
    await setImmediate()
    lastTurn = performance.now()
    run?.signal.throwIfAborted()
  }
}
