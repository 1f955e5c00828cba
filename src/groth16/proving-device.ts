/**
 * The one interface that every device implements (WebAssembly in `cpu/`, WebGPU in `webgpu/`); `prove-batch.ts` is
 * written once against it and runs inside the device's worker.
 *
 * Assignments, rows and quotients stay on the device: what crosses is the compact witness and ranges of the SRS one
 * way, a few points the other way. Every method that computes works in units of at most about 200 ms, reports each
 * through {@link Run.unit} and stops between units when the signal aborts (it then rejects with `signal.reason` and
 * frees what it made).
 */
import type { CircuitShape, CompactWitness } from '../circuit/shape.ts'
import type { PointRange, Query } from '../params/layout.ts'
import type { ToxicWaste } from '../params/toxic-waste.ts'

/**
 * Points of a batch's way at which memory becomes free: its witnesses were taken over by the device, so that copies
 * made to get them there can go; its last quotient is there, and the vectors that only rows needed are gone.
 */
export type Milestone = 'taken' | 'divided'

/** What a running computation reports to, and obeys. */
export interface Run {
  readonly signal: AbortSignal
  /** Its units go before those of other calls to the same device. */
  readonly urgent?: boolean | undefined
  /** Among calls that are alike urgent the units of the smaller go first. @default 0 */
  readonly order?: number | undefined
  /** Called once for each, in order. */
  readonly passed?: ((milestone: Milestone) => void) | undefined
  /** Called after each unit of device work, with the share (0 to 1) of this call that is done. */
  unit(share: number): void
  /** Something for the log that is no reason to fail. */
  note?(message: string): void
}

/** A circuit's shape as loaded on a device; shared by all partitions. */
export interface DeviceShape {
  readonly shape: CircuitShape
  release(): void
}

/**
 * One partition on the device: its assignment, and the scalars of every query once {@link ProvingDevice.quotient} ran.
 */
export interface Assignment {
  readonly shape: DeviceShape
  release(): void
}

/**
 * Writes the encodings of point `first` of a range and of those that follow, as many as `target` holds. Calls for parts
 * of a range may overlap; the target is the device's memory, in use until the promise settles.
 */
export type ReadPoints = (first: number, target: Uint8Array) => Promise<void>

/** How points are imported. */
export interface LoadOptions {
  /**
   * These points were imported before, from what has not changed since: a device need not look again whether each is on
   * the curve. A proof with one that is not is none, and is not returned.
   * @default false
   */
  readonly checked?: boolean | undefined
  /** Parts that are read at once, where the device has planned for them. @default the device's least */
  readonly partsAtOnce?: number | undefined
}

/** Imported points of a range of one query. */
export interface DevicePoints {
  readonly group: 'g1' | 'g2'
  readonly count: number
  release(): void
}

/**
 * Columns of a circuit at τ and tables of the generators' multiples, on a device. What they come from is secret:
 * nothing else of it leaves.
 */
export interface DeviceSetup {
  /** As in a `.vk` file. */
  readonly verifyingKey: Uint8Array

  /**
   * Makes points of a range, to be used as imported ones.
   * @throws {Error} one would be infinity (the chance is below 2^−220): draw other secrets
   * @throws `run.signal.reason` once the signal aborts
   */
  points(range: PointRange, run: Run): Promise<DevicePoints>

  /**
   * Makes the same points and hands out their encodings, for a file. Calls overlap: while one range is taken the next
   * one is made.
   * @throws what `take` rejects with; no call of it is in flight then
   */
  encode(range: PointRange, take: TakePoints, run: Run): Promise<void>

  /**
   * Points stay: they are the caller's. Waits for a range that is being made, whose run is to be aborted before.
   * Idempotent.
   */
  release(): Promise<void>
}

/**
 * Takes encodings (bellperson's, uncompressed) from byte `at` of a range on. They may lie in a device's memory, and are
 * not to be touched once the promise has settled. Calls overlap, in no order.
 */
export type TakePoints = (at: number, bytes: Uint8Array) => Promise<void>

/**
 * Σ scalars[i] · points[i] of a few points, on the calling thread.
 * @param points uncompressed big-endian, infinity allowed
 * @returns the sum, encoded likewise
 */
export type ShortSum = (group: 'g1' | 'g2', points: readonly Uint8Array[], scalars: readonly bigint[]) => Uint8Array

/** How a circuit fits the memory that a device has of its own. Sizes are of what is allocated. */
export interface MemoryPlan {
  /** While the circuit is loaded. */
  readonly shapeBytes: number
  /** At most, of a batch of one partition, beside that and beside kept points. */
  readonly workingBytes: number
  /** On top of that, where all points were to be kept and are not: what those take that come and go. */
  readonly passingBytes: number
  /** Points to load at once. */
  readonly rangePoints: Readonly<Record<'g1' | 'g2', number>>
  /** Parts that they are read in at once. */
  readonly partsAtOnce: number
  /** Queries whose points there is room to keep, with the bytes that these take. */
  readonly kept: Readonly<Partial<Record<Query, number>>>
  /**
   * Of points that the device makes: what their set-up takes at most while it is begun, and from then on, beside
   * points.
   */
  readonly setup?: { readonly mostBytes: number; readonly heldBytes: number }
}

/**
 * What proves partitions. Shapes, points and assignments are handles of the device that made them, and are released by
 * who asked for them.
 */
export interface ProvingDevice {
  readonly kind: 'cpu' | 'webgpu'
  /** For logs, status and errors, e.g. the adapter's name. */
  readonly name: string
  /** Largest evaluation domain, as log2, that this device can serve. */
  readonly maxLog2Domain: number
  /** How many points of a group to load at once (for a range of the SRS): the best trade of memory and speed here. */
  rangePoints(group: 'g1' | 'g2'): number

  /**
   * For a device with memory of its own: what a circuit takes of it. Sums of the circuit keep to the plan that was made
   * last.
   * @param besideBytes memory that is not to be counted on
   * @param made whether the device makes the points
   * @throws {GpuOutOfMemoryError} it can never fit
   */
  planMemory?(shape: CircuitShape, besideBytes: number, made?: boolean): MemoryPlan

  loadShape(shape: CircuitShape): Promise<DeviceShape>

  /**
   * Waits until memory that was freed is back where it came from, which takes a device with memory of its own a second
   * for 30 GiB.
   */
  settle?(): Promise<void>

  /**
   * Takes a witness over, fills in what is derived, and evaluates A·z and B·z.
   * @throws {SynthesisError} the witness was `unchecked`, and does not satisfy the circuit. GPUs alone take such
   * witnesses
   */
  assign(shape: DeviceShape, witness: CompactWitness, run: Run): Promise<Assignment>

  /** Turns the rows of an assignment into the m − 1 coefficients of the quotient h (six transforms). */
  quotient(assignment: Assignment, run: Run): Promise<void>

  /**
   * Imports points from bellperson's uncompressed big-endian encoding (96 or 192 bytes each). They are read part by
   * part, so that the host holds some tens or hundreds of MiB of them at most, however long the range is; it settles
   * when no call of `read` is in flight any more.
   * @throws {SrsUnavailableError} a coordinate not below p, a point off the curve, or infinity; `details.received` has
   * its index in the range.
   * @throws what `read` rejects with
   */
  loadPoints(
    group: 'g1' | 'g2',
    count: number,
    read: ReadPoints,
    run: Run,
    options?: LoadOptions,
  ): Promise<DevicePoints>

  /**
   * Sums `points[i] · scalar[first + i]` over the range, for every assignment, where scalar k belongs to point k of the
   * query (as in `bellperson::groth16::Parameters`: `l` all aux; `a` all inputs, then aux dense in A; `b` ONE, then aux
   * dense in B; `h` the quotient). Over the ranges of a query, one after the other from its first to its last point,
   * the results add up to the query's sum; a device may keep terms of a range back for a later one.
   * @returns one sum per assignment, uncompressed big-endian (96 or 192 bytes; infinity has the flag 0x40).
   */
  multiexp(
    points: DevicePoints,
    query: Query,
    first: number,
    assignments: readonly Assignment[],
    run: Run,
  ): Promise<Uint8Array[]>

  /**
   * The sums of all queries at once, for a circuit so small that a device makes them faster together.
   * @param points all points of every query
   * @returns the sums of each assignment, those over h and l perhaps together as that over h, since a proof takes no
   * more of them than their sum;
   *   undefined, at once, where it takes one query after the other
   */
  sumQueries?(
    points: Readonly<Record<Query, DevicePoints>>,
    assignments: readonly Assignment[],
    run: Run,
  ): Promise<Readonly<Record<Query, Uint8Array>>[]> | undefined

  /**
   * Multiples of one base, for a set-up.
   * @param base uncompressed big-endian
   * @param scalars 32 bytes little-endian each, canonical
   * @param out receives one uncompressed big-endian point per scalar (infinity for 0)
   */
  fixedBaseMultiples(
    group: 'g1' | 'g2',
    base: Uint8Array,
    scalars: Uint8Array,
    out: Uint8Array,
    run: Run,
  ): Promise<void>

  /**
   * Begins a set-up whose points are made in the device's own memory, where a device can do that.
   * @throws {GpuOutOfMemoryError} nothing is kept then
   */
  openSetup?(shape: CircuitShape, toxic: ToxicWaste, run: Run): Promise<DeviceSetup>

  /**
   * For the handful of multiples that make a proof of the sums; bigints do it, 60 ms a proof, where a device has
   * nothing faster.
   */
  readonly shortSum?: ShortSum

  /** Known answers for field, transform and sums. Rejects if the device computes wrong. */
  selfTest(run: Run): Promise<void>

  /** Frees everything, ends every thread. Idempotent. */
  close(): Promise<void>
}
