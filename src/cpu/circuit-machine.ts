/**
 * Walks circuits on the calling thread, in a WebAssembly memory of its own: digests, checks, assignments, and the products that a
 * set-up needs. Long calls are cut in pieces; between them a {@link Run} is told and obeyed, and the event loop gets its turn.
 */
import { setImmediate } from 'node:timers/promises'
import type { CircuitShape, CompactWitness } from '../circuit/shape.ts'
import { SynthesisError } from '../errors.ts'
import type { Run } from '../groth16/proving-device.ts'
import { MemoryArena } from './arena.ts'
import { type CircuitExports, instantiateCircuit, MODE } from './circuit-machine/module.ts'
import { type CircuitPlan, locateRow, type Piece, planCircuit, type RowLocation } from './circuit-machine/pieces.ts'
import { CircuitTables, CONTEXT_BYTES, placeBytes } from './circuit-machine/tables.ts'

/** Rows walked in one call, some 50 ms of hashing or evaluating. */
const ROWS_PER_PIECE = 32_768
/** Rows whose aux variables are held at a time while a witness is checked: some 64 MB. */
const ROWS_PER_SECTION = 2 ** 21
const SCRATCH_BYTES = 2 ** 20
const BLAKE2S_STATE_BYTES = 128
const DIGEST_BUFFER_BYTES = 2 ** 16
/** Pairs of key and coefficient that the digest sorts. */
const SORT_BYTES = 8 * 4096
const CHECKPOINT_BYTES = 48
const MAXIMUM_PAGES = 65_536
const PAGE_BYTES = 65_536
const INITIAL_PAGES = 48
/** How long to compute before the event loop gets a turn. */
const TURN_MS = 40

export interface DigestCheckpoint {
  readonly constraints: number
  readonly inputs: number
  readonly aux: number
  /** BLAKE2s-256 of the constraint bytes up to here, hex. */
  readonly stream: string
}

/** Digests of a circuit, as `TestConstraintSystem::hash` of the crate bellpepper-core makes them. */
export interface CircuitDigest {
  /** BLAKE2s-256 of the three counts and the constraint bytes, hex. */
  readonly hash: string
  /** BLAKE2s-256 of the constraint bytes alone; undefined if no checkpoints were asked for. */
  readonly stream: string | undefined
  readonly checkpoints: readonly DigestCheckpoint[]
}

export interface DigestOptions {
  /** Rows between checkpoints; with them comes `stream`, and hashing takes twice as long. */
  readonly every?: number | undefined
  readonly run?: Run | undefined
}

/** BLAKE2s-256 digests of a full witness, hex; scalars as 32 bytes little-endian. */
export interface WitnessDigests {
  /** All inputs, ONE first. */
  readonly inputs: string
  readonly aux: string
  /** A·z, B·z and C·z a row, without the rows that are appended for the inputs. */
  readonly products: { readonly a: string; readonly b: string; readonly c: string }
}

export interface CheckResult {
  /** The first row in which A·z · B·z ≠ C·z; undefined if the witness satisfies the circuit. */
  readonly failure: RowLocation | undefined
  readonly digests: WitnessDigests | undefined
}

export interface CheckOptions {
  /** Also compute {@link CheckResult.digests}. */
  readonly digests?: boolean | undefined
  readonly run?: Run | undefined
}

/** A circuit that a {@link CircuitMachine} has loaded. */
export interface LoadedCircuit {
  readonly shape: CircuitShape
  release(): void
}

export class CircuitMachine {
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
  load(shape: CircuitShape): CircuitTables & LoadedCircuit {
    return new CircuitTables(this.memory, this.arena, shape)
  }

  /** The digest of a circuit without any value. */
  async digest(circuit: CircuitTables, { every = 0, run }: DigestOptions = {}): Promise<CircuitDigest> {
    const { shape } = circuit
    const { exports, memory } = this
    return await this.#withBlock(
      4 * BLAKE2S_STATE_BYTES + DIGEST_BUFFER_BYTES + SORT_BYTES + PAGE_BYTES,
      async (block) => {
        const hash = block
        const stream = every > 0 ? block + BLAKE2S_STATE_BYTES : 0
        const copy = block + 2 * BLAKE2S_STATE_BYTES
        const result = block + 3 * BLAKE2S_STATE_BYTES
        const buffer = block + 4 * BLAKE2S_STATE_BYTES
        const sort = buffer + DIGEST_BUFFER_BYTES
        const counts = sort + SORT_BYTES
        exports.blake2sInit(hash)
        if (stream !== 0) exports.blake2sInit(stream)
        const header = new DataView(new ArrayBuffer(24))
        for (const [i, count] of [shape.inputs, shape.aux, shape.constraints].entries()) {
          header.setBigUint64(8 * i, BigInt(count))
        }
        placeBytes(memory, counts, new Uint8Array(header.buffer))
        exports.blake2sUpdate(hash, counts, 24)

        circuit.writeContext(this.#context, {}, true)
        const checkpoints: DigestCheckpoint[] = []
        const { sections } = planCircuit(shape, circuit.image, ROWS_PER_PIECE)
        let until = every
        let rows = 0
        for (const { pieces } of sections) {
          for (const piece of pieces) {
            const count = every > 0 ? Math.floor(piece.rows / every) + 1 : 0
            await this.#withBlock(count * CHECKPOINT_BYTES, async (list) => {
              const end = list + count * CHECKPOINT_BYTES
              exports.bindDigest(buffer, DIGEST_BUFFER_BYTES, hash, stream, copy, sort, every, until, list, end)
              this.#walk(piece, MODE.digest)
              until = exports.flushDigest()
              const words = new DataView(memory.buffer)
              for (let at = list; at < exports.checkpointPosition() >>> 0; at += CHECKPOINT_BYTES) {
                checkpoints.push({
                  constraints: (checkpoints.length + 1) * every,
                  inputs: words.getUint32(at + 4, true),
                  aux: words.getUint32(at + 8, true),
                  stream: this.#hex(at + 16),
                })
              }
            })
            rows += piece.rows
            await turn(run, rows / shape.constraints)
          }
        }
        const digest = (state: number): string => {
          exports.blake2sDigest(state, copy, result)
          return this.#hex(result)
        }
        return { hash: digest(hash), stream: stream === 0 ? undefined : digest(stream), checkpoints }
      },
    )
  }

  /**
   * Evaluates all three sides of every row of a witness. Works section by section, so that also circuits run whose assignment
   * exceeds WebAssembly's memory.
   * @throws {SynthesisError} the witness' lengths are not the circuit's, or a scalar is not canonical
   */
  async check(circuit: CircuitTables, witness: CompactWitness, options: CheckOptions = {}): Promise<CheckResult> {
    const { shape } = circuit
    const { exports } = this
    const plan = planCircuit(shape, circuit.image, ROWS_PER_PIECE, ROWS_PER_SECTION)
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
          placeBytes(this.memory, fixedBase, witness.inputs)
          exports.blake2sUpdate(inputState, fixedBase, witness.inputs.length)
          exports.bindCheck(options.digests === true ? states : 0)
          let rows = 0
          for (const section of plan.sections) {
            const isCommon = section.fromStep === 0
            circuit.writeContext(this.#context, {
              ...fields,
              fixedBase,
              fixedKeys,
              ...(!isCommon && { windowBase, windowFirst: shape.inputs + section.firstAux, windowKeys: section.aux }),
            })
            for (const piece of section.pieces) this.#walk(piece, MODE.expand)
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
            failure: failed === 0xffff_ffff ? undefined : locateRow(shape.root, failed),
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
        placeBytes(this.memory, fixedBase, witness.inputs)
        circuit.writeContext(this.#context, { ...fields, fixedBase, fixedKeys: keys })
        await this.#walkAll(planCircuit(shape, circuit.image, ROWS_PER_PIECE), MODE.expand, run)
        return new Uint8Array(this.memory.buffer).slice(fixedBase, fixedBase + 32 * keys)
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
        const odd = this.exports.firstNotCanonical(wideAt, totals.wide)
        if (odd < totals.wide) throw new SynthesisError(`Scalar ${odd} of the witness is not below r`)
        return await body({ bits: bitsAt, bitCount: totals.bits, wide: wideAt, wideCount: totals.wide })
      }),
    )
  }

  async #withBlock<T>(bytes: number, body: (address: number) => Promise<T>): Promise<T> {
    const address = this.arena.allocate(bytes)
    try {
      return await body(address)
    } finally {
      this.arena.free(address)
    }
  }

  #hex(address: number): string {
    return Buffer.from(new Uint8Array(this.memory.buffer).slice(address, address + 32)).toString('hex')
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
