/**
 * Pieces of a circuit: ranges of steps of one instance, as `circuit.wasm` walks them in one call. Cutting keeps calls
 * short (for progress and abort) and lets threads share an expansion.
 *
 * Which pieces may run side by side: rows and digests of products only read, so any. Expansion fills in what later rows
 * read; a circuit's root can be cut before a step if no step from there on reads an aux variable that lies behind the
 * root's common first part and before the cut. In the PoSt circuits sectors share nothing; in PoRep challenges read the
 * root's first variables only; in SnapDeals they read digests too, which are part of what comes first.
 */
import {
  AUX,
  type CircuitShape,
  DEFINES_NOTHING,
  INPUT,
  KIND_MASK,
  NUMBER_MASK,
  ONE,
  type Step,
  type Template,
  type Variable,
} from '../../circuit/shape.ts'
import { normalizedSteps, type ShapeImage } from './image.ts'

/** Words of a piece before its wires. */
const PIECE_HEADER_WORDS = 13

/** A range of steps of one instance, for one call of `walkPiece`. */
export interface Piece {
  /** As `walkPiece` reads it. */
  readonly words: Uint32Array
  readonly rows: number
  readonly firstRow: number
  /** The aux variables that it allocates. */
  readonly firstAux: number
  readonly aux: number
}

/** Counters of a walk. */
interface Cursor {
  row: number
  aux: number
  input: number
  bit: number
  wide: number
}

/** One instance, with the numbers of its first variables and its wires as keys. */
interface Instance {
  readonly template: Template
  readonly auxOrigin: number
  readonly inputOrigin: number
  readonly wires: Uint32Array
}

/** A range of the root's steps that needs nothing from other ranges except the root's common first part. */
export interface Section {
  readonly fromStep: number
  readonly toStep: number
  readonly firstAux: number
  readonly aux: number
  readonly rows: number
  readonly pieces: readonly Piece[]
}

/** How a circuit falls into sections. The first section is the root's common first part and runs before all others. */
export interface CircuitPlan {
  /** Aux variables of the first section. */
  readonly commonAux: number
  readonly sections: readonly Section[]
}

/**
 * Cuts a circuit.
 * @param rowsPerPiece a piece is closed once it has this many rows; one can have more only if its last step has
 * @param rowsPerSection sections are merged up to this size
 */
export function planCircuit(
  shape: CircuitShape,
  image: ShapeImage,
  rowsPerPiece: number,
  rowsPerSection: number = rowsPerPiece,
): CircuitPlan {
  const steps = normalizedSteps(shape.root)
  const root: Instance = { template: shape.root, auxOrigin: 0, inputOrigin: 1, wires: new Uint32Array(0) }
  const { cuts, commonAux, commonSteps } = independentCuts(shape.root)
  const sections: Section[] = []
  const cursor: Cursor = { row: 0, aux: 0, input: 1, bit: 0, wide: 0 }
  let from = 0
  const close = (to: number): void => {
    const { aux, row } = cursor
    const pieces = [...cutSteps(shape, image, root, from, to, cursor, rowsPerPiece)]
    sections.push({ fromStep: from, toStep: to, firstAux: aux, aux: cursor.aux - aux, rows: cursor.row - row, pieces })
    from = to
  }
  close(commonSteps)
  let rows = 0
  for (let s = commonSteps; s < steps.length; s++) {
    if (s > from && rows >= rowsPerSection && cuts.has(s)) {
      close(s)
      rows = 0
    }
    const step = steps[s]
    if (step?.kind === 'child') rows += step.template.totals.rows
    else if (step?.kind === 'rows') rows += step.count
  }
  if (from < steps.length) close(steps.length)
  return { commonAux, sections }
}

/** Steps of the root before which it may be cut, by the rule above. */
export interface IndependentCuts {
  readonly cuts: ReadonlySet<number>
  readonly commonAux: number
  /** Steps of the common first part. */
  readonly commonSteps: number
}

/**
 * The first part is chosen so that the fewest rows have to wait for others: it ends before the first child, or before a
 * run of equal ones.
 */
export function independentCuts(root: Template): IndependentCuts {
  const steps = normalizedSteps(root)
  const templates = steps.map((step) => (step.kind === 'child' ? step.template : undefined))
  const first = templates.findIndex((template) => template !== undefined)
  const ends = templates.flatMap((template, s) => {
    const beginsRun = template !== undefined && template === templates[s + 1] && template !== templates[s - 1]
    return s === first || beginsRun ? [s] : []
  })
  const found = (ends.length === 0 ? [steps.length] : ends).map((end) => cutsBehind(root, steps, end))
  return found.reduce((best, next) => (longestWait(steps, next) < longestWait(steps, best) ? next : best))
}

/** Rows that come one after another, whatever the number of threads: the first part and the largest section. */
function longestWait(steps: readonly Step[], { cuts, commonSteps }: IndependentCuts): number {
  let [common, section, largest] = [0, 0, 0]
  for (const [s, step] of steps.entries()) {
    const rows = step.kind === 'child' ? step.template.totals.rows : step.kind === 'rows' ? step.count : 0
    if (s < commonSteps) common += rows
    else section = (cuts.has(s) ? 0 : section) + rows
    largest = Math.max(largest, section)
  }
  return common + largest
}

function cutsBehind(root: Template, steps: readonly Step[], commonSteps: number): IndependentCuts {
  const auxAt: number[] = []
  let aux = 0
  for (const step of steps) {
    auxAt.push(aux)
    if (step.kind === 'aux') aux += step.count
    else if (step.kind === 'child') aux += step.template.totals.aux
  }
  const commonAux = auxAt[commonSteps] ?? aux
  const cuts = new Set<number>()
  let lowest = Number.POSITIVE_INFINITY
  const read = (variable: Variable): void => {
    const number = variable & NUMBER_MASK
    if ((variable & KIND_MASK) >>> 0 === AUX && number >= commonAux && number < lowest) lowest = number
  }
  for (let s = steps.length - 1; s >= commonSteps; s--) {
    const step = steps[s]
    if (step?.kind === 'child') step.wires.forEach(read)
    else if (step?.kind === 'rows') {
      const { termStart, termVariable, defines } = root.matrix
      const end = step.first + step.count
      termVariable.subarray(termStart[3 * step.first], termStart[3 * end]).forEach(read)
      // A common variable that is only known late makes every section wait.
      if (defines.subarray(step.first, end).some((v) => v !== DEFINES_NOTHING && v < commonAux)) {
        return { cuts: new Set(), commonAux, commonSteps }
      }
    }
    if (lowest >= (auxAt[s] as number)) cuts.add(s)
  }
  return { cuts, commonAux, commonSteps }
}

function* cutSteps(
  shape: CircuitShape,
  image: ShapeImage,
  instance: Instance,
  from: number,
  to: number,
  cursor: Cursor,
  rowsPerPiece: number,
): Generator<Piece> {
  const steps = normalizedSteps(instance.template)
  let start = { step: from, ...cursor }
  const piece = (end: number): Piece => {
    const { wires, template } = instance
    const words = new Uint32Array(PIECE_HEADER_WORDS + wires.length)
    words.set([
      image.templateOffsets.get(template) as number,
      start.step,
      end,
      shape.inputs + instance.auxOrigin,
      instance.inputOrigin,
      shape.inputs + start.aux,
      start.input,
      start.row,
      start.bit,
      start.wide,
    ])
    words[12] = wires.length
    words.set(wires, PIECE_HEADER_WORDS)
    const rows = cursor.row - start.row
    const made = { words, rows, firstRow: start.row, firstAux: start.aux, aux: cursor.aux - start.aux }
    start = { step: end, ...cursor }
    return made
  }
  for (let s = from; s < to; s++) {
    const step = steps[s]
    if (step?.kind === 'child') {
      const { template } = step
      if (template.totals.rows > rowsPerPiece && template.poseidon === undefined) {
        if (s > start.step) yield piece(s)
        const child: Instance = {
          template,
          auxOrigin: cursor.aux,
          inputOrigin: cursor.input,
          wires: step.wires.map((variable) => keyOf(shape, instance, variable)),
        }
        yield* cutSteps(shape, image, child, 0, template.steps.length, cursor, rowsPerPiece)
        start = { step: s + 1, ...cursor }
        continue
      }
      cursor.row += template.totals.rows
      cursor.aux += template.totals.aux
      cursor.input += template.totals.inputs
      cursor.bit += template.totals.bits
      cursor.wide += template.totals.wide
    } else if (step?.kind === 'aux') {
      cursor.aux += step.count
      if (step.class === 'bit') cursor.bit += step.count
      else if (step.class === 'wide') cursor.wide += step.count
    } else if (step?.kind === 'input') cursor.input += step.count
    else if (step?.kind === 'rows') cursor.row += step.count
    if (cursor.row - start.row >= rowsPerPiece) yield piece(s + 1)
  }
  if (to > start.step) yield piece(to)
}

/** Key of a local variable: inputs first, ONE is 0, then aux. */
function keyOf(shape: CircuitShape, { auxOrigin, inputOrigin, wires }: Instance, variable: Variable): number {
  const number = variable & NUMBER_MASK
  if (variable === ONE) return 0
  switch ((variable & KIND_MASK) >>> 0) {
    case AUX:
      return shape.inputs + auxOrigin + number
    case INPUT:
      return inputOrigin + number
    default:
      return wires[number] as number
  }
}
