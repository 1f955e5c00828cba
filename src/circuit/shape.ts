/**
 * What a circuit is, without any value: nested templates.
 *
 * A template is recorded once and used many times. Its rows speak of *local* variables: the constant ONE, its wires
 * (outer variables that it reads), its aux variables and its public inputs, both numbered from 0 in order of
 * allocation, those of nested templates included (a child's variables are a contiguous range of its parent's). An
 * instance fixes where the three ranges (aux, inputs, rows) begin and what the wires are; so 130 million rows are a few
 * hundred thousand instances, and those are a tree of a few dozen templates.
 *
 * The root of a circuit has no wires; its local numbers are the circuit's own, except that the circuit's input 0 is ONE
 * and the root's input k is the circuit's input k + 1.
 */
import type { CircuitId } from './circuit-id.ts'

/** A local variable: the kind in the top two bits, its number in the other thirty. An unsigned 32-bit integer. */
export type Variable = number

/** Kind of a variable of the instance's surroundings. */
export const WIRE = 0x0000_0000
/** Kind of an auxiliary variable of the template, or of a nested one. */
export const AUX = 0x4000_0000
/** Kind of a public input. */
export const INPUT = 0x8000_0000
/** The constant 1. As a variable of the whole circuit it is input 0. */
export const ONE: Variable = 0xc000_0000

/** Of a {@link Variable}: the bits of its kind. */
export const KIND_MASK = 0xc000_0000
/** Of a {@link Variable}: the bits of its number. */
export const NUMBER_MASK = 0x3fff_ffff

/** The wire of a number. */
export const wireVariable = (index: number): Variable => index
/** The aux variable of a number, as an unsigned integer. */
export const auxVariable = (index: number): Variable => (AUX | index) >>> 0
/** The public input of a number, as an unsigned integer. */
export const inputVariable = (index: number): Variable => (INPUT | index) >>> 0

/**
 * How the value of an aux variable reaches a device.
 * - `bit`: one bit of the witness' bit array (the value is 0 or 1, fixed by the circuit);
 * - `wide`: a full scalar in the witness' list;
 * - `derived`: not sent; the row that names it in {@link RowMatrix.defines} computes it from variables that come
 *   before.
 */
export type AuxClass = 'bit' | 'wide' | 'derived'

/**
 * Sparse rows of a template's own constraints (those of nested templates are not in it). Row r has three linear
 * combinations A, B, C, numbers 3r, 3r+1, 3r+2; linear combination i has the terms `termStart[i]` up to
 * `termStart[i + 1]`. No two terms of one linear combination name the same local variable and no coefficient is zero.
 * Terms are in the order ONE, inputs, wires, aux, each by rising number: since a wire's variable is older than all of
 * the template's own, only the wires may have to be sorted again (inputs before aux) once they are resolved.
 */
export interface RowMatrix {
  readonly rows: number
  /** Length 3 · rows + 1. */
  readonly termStart: Uint32Array
  readonly termVariable: Uint32Array
  /** Numbers in the circuit's coefficient table. */
  readonly termCoefficient: Uint32Array
  /**
   * Per row: local number of the derived aux variable that the row defines, or 0xffff_ffff. Such a variable occurs in
   * the row's C only, with coefficient 1 or −1: v = ±(A·B − rest of C). Rows define in an order in which everything
   * they read is known.
   */
  readonly defines: Uint32Array
  /**
   * Per row: how many of the template's aux variables (nested ones included) are allocated when the row is enforced.
   */
  readonly auxBefore: Uint32Array
  /** The same for its public inputs. */
  readonly inputsBefore: Uint32Array
}

/** In {@link RowMatrix.defines}: the row is a check, and no variable follows from it. */
export const DEFINES_NOTHING = 0xffff_ffff

/**
 * One step of a template, in order of synthesis. Between two children the order of aux, input and row steps is
 * immaterial.
 */
export type Step =
  | { readonly kind: 'aux'; readonly class: AuxClass; readonly count: number }
  | { readonly kind: 'input'; readonly count: number }
  /** Own rows `first` up to `first + count` of {@link Template.matrix}. */
  | { readonly kind: 'rows'; readonly first: number; readonly count: number }
  /** A nested template; `wires[i]` is the parent's local variable that the child reads as wire i (ONE is allowed). */
  | { readonly kind: 'child'; readonly template: Template; readonly wires: Uint32Array }

/** Counts of variables and rows, nested templates included. */
export interface TemplateTotals {
  readonly rows: number
  readonly aux: number
  readonly inputs: number
  readonly bits: number
  readonly wide: number
  readonly derived: number
}

/** A gadget, recorded once: its rows with local variables, and the templates nested in it. */
export interface Template {
  /** Unique within a circuit: the gadget and the form of its wires, e.g. `poseidon-8` or `insert-8`. */
  readonly name: string
  readonly wires: number
  readonly steps: readonly Step[]
  readonly matrix: RowMatrix
  readonly totals: TemplateTotals
  /**
   * Set where all aux variables have a faster witness program than row-by-row definition: a Poseidon permutation in the
   * order in which its rows allocate them (neptune's `PoseidonCircuit`). `domainTag` is element 0 of the state; the
   * wires are the preimage.
   */
  readonly poseidon?: { readonly arity: number; readonly domainTag: bigint }
}

/** Distinct coefficients of a circuit, canonical, below r. Number 0 is 1 and number 1 is r − 1. */
export type CoefficientTable = readonly bigint[]

/** One bit a variable, least significant first within each byte, padded with zeros to a multiple of 8 bytes. */
export type BitArray = Uint8Array

/** A circuit: what of it depends on neither job nor partition. Shared by all of them, and never changed. */
export interface CircuitShape {
  readonly circuitId: CircuitId
  readonly root: Template
  readonly coefficients: CoefficientTable
  /** Public inputs, ONE included. */
  readonly inputs: number
  readonly aux: number
  /** Without the row that is appended for each input. */
  readonly constraints: number
  /** log2 of the evaluation domain: constraints + inputs rounded up to a power of two. */
  readonly log2Domain: number
  /** Which aux variables occur in A and in B: they have a point in the queries `a`, and `b_g1` / `b_g2`. */
  readonly density: {
    readonly aAux: BitArray
    readonly aAuxCount: number
    readonly bAux: BitArray
    readonly bAuxCount: number
  }
}

/**
 * The values of a partition in the form that travels: everything that the shape can't derive. All arrays may lie on
 * SharedArrayBuffers. Order within each is the order of allocation.
 */
export interface CompactWitness {
  /** Public inputs, ONE first, 32 bytes little-endian each. */
  readonly inputs: Uint8Array
  /** Values of the aux variables of class `bit`. */
  readonly bits: BitArray
  /** Values of the aux variables of class `wide`, 32 bytes little-endian each, canonical. */
  readonly wide: Uint8Array
  /** Not known to satisfy the circuit: whoever takes it over checks the rows that define nothing. */
  readonly unchecked?: boolean | undefined
}
