/** Which variables occur in A and B, and how many nonzero coefficients there are: composed template by template. */
import { asBitArray, countBits, orBits, paddedWordsFor, setBit, testBit, wordsFor } from './bit-array.ts'
import { AUX, type CircuitShape, KIND_MASK, NUMBER_MASK, ONE, type Template, WIRE } from './shape.ts'

/** Sides of a row, as offsets into its three linear combinations. */
const SIDES = { a: 0, b: 1 } as const
type Side = keyof typeof SIDES

/** Local variables that occur on one side of any row of a template, nested ones included. */
interface Occurrence {
  readonly wires: Uint32Array
  readonly aux: Uint32Array
  /** Whether a public input other than ONE occurs. */
  readonly inputs: boolean
}

/**
 * Densities of a whole circuit. Takes time in proportion to its aux variables divided by 32, plus the rows of its
 * templates.
 * @throws {Error} a public input other than ONE occurs in B: the layout of parameters relies on the contrary
 */
export function circuitDensity(root: Template): CircuitShape['density'] {
  const a = occurrence(root, 'a', new Map()).aux
  const { aux: b, inputs } = occurrence(root, 'b', new Map())
  if (inputs) throw new Error(`${root.name}: a public input occurs in B`)
  return { aAux: asBitArray(a), aAuxCount: countBits(a), bAux: asBitArray(b), bAuxCount: countBits(b) }
}

function occurrence(template: Template, side: Side, known: Map<Template, Occurrence>): Occurrence {
  const found = known.get(template)
  if (found !== undefined) return found
  const { matrix, totals } = template
  const wires = new Uint32Array(wordsFor(template.wires))
  const aux = new Uint32Array(paddedWordsFor(totals.aux))
  let inputs = false
  const mark = (variable: number): void => {
    const kind = (variable & KIND_MASK) >>> 0
    if (kind === WIRE) setBit(wires, variable & NUMBER_MASK)
    else if (kind === AUX) setBit(aux, variable & NUMBER_MASK)
    else if (variable !== ONE) inputs = true
  }
  for (let row = 0; row < matrix.rows; row++) {
    const combination = 3 * row + SIDES[side]
    const end = matrix.termStart[combination + 1] as number
    for (let term = matrix.termStart[combination] as number; term < end; term++) {
      mark(matrix.termVariable[term] as number)
    }
  }
  let auxOffset = 0
  for (const step of template.steps) {
    if (step.kind === 'aux') auxOffset += step.count
    if (step.kind !== 'child') continue
    const child = occurrence(step.template, side, known)
    orBits(aux, auxOffset, child.aux)
    for (const [i, variable] of step.wires.entries()) if (testBit(child.wires, i)) mark(variable)
    inputs ||= child.inputs
    auxOffset += step.template.totals.aux
  }
  const result = { wires, aux, inputs }
  known.set(template, result)
  return result
}

/** Nonzero coefficients of each matrix, without the rows appended for inputs. */
export interface Nonzeros {
  readonly a: number
  readonly b: number
  readonly c: number
}

export interface ShapeStatistics {
  readonly nonzeros: Nonzeros
  readonly density: { readonly aAux: number; readonly bAux: number; readonly bInputs: number }
  /** Different templates. */
  readonly templates: number
  /** Rows of the different templates: what a shape really stores. */
  readonly storedRows: number
}

/** Counts of a circuit by the multiplicity of its templates. */
export function shapeStatistics(shape: Pick<CircuitShape, 'root' | 'density'>): ShapeStatistics {
  const known = new Map<Template, Nonzeros>()
  const nonzeros = countNonzeros(shape.root, known)
  return {
    nonzeros,
    // ONE, as soon as there is a row at all.
    density: { aAux: shape.density.aAuxCount, bAux: shape.density.bAuxCount, bInputs: nonzeros.b > 0 ? 1 : 0 },
    templates: known.size,
    storedRows: [...known.keys()].reduce((sum, template) => sum + template.matrix.rows, 0),
  }
}

function countNonzeros(template: Template, known: Map<Template, Nonzeros>): Nonzeros {
  const found = known.get(template)
  if (found !== undefined) return found
  const { rows, termStart } = template.matrix
  let [a, b, c] = [0, 0, 0]
  for (let row = 0; row < rows; row++) {
    const [from, toA, toB, toC] = termStart.subarray(3 * row, 3 * row + 4) as unknown as [
      number,
      number,
      number,
      number,
    ]
    a += toA - from
    b += toB - toA
    c += toC - toB
  }
  for (const step of template.steps) {
    if (step.kind !== 'child') continue
    // Operands that are the same variable share a wire, so terms never merge when wires are resolved and counts just
    // add up.
    const child = countNonzeros(step.template, known)
    a += child.a
    b += child.b
    c += child.c
  }
  const result = { a, b, c }
  known.set(template, result)
  return result
}
