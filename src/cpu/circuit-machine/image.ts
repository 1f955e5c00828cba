/**
 * A circuit's shape as `circuit.wasm` walks it: an array of 32-bit words ("image") in which templates refer to each
 * other by byte offset. Everything that the walker relies on is checked here, so that a faulty shape is refused with a
 * message.
 *
 * Template (16 words): 0 number, 1 wires, 2 rows, 3 aux, 4 inputs, 5 bits, 6 wide (totals), 7 own rows, 8 count of
 * steps, then offsets of 9 steps, 10 row records, 11 term starts, 12 terms; 13 number of the Poseidon table + 1, or 0.
 * Step (4 words): 0, class, count | 1, count | 2, first row, count | 3, offset of the template, offset of its wires.
 * Row record (2 words): plan (low byte A, next byte B), defined aux or 0xffffffff. Term (2 words): local variable,
 * coefficient number.
 */
import {
  AUX,
  type CircuitShape,
  DEFINES_NOTHING,
  INPUT,
  KIND_MASK,
  NUMBER_MASK,
  ONE,
  type RowMatrix,
  type Step,
  type Template,
  type Variable,
} from '../../circuit/shape.ts'
import { poseidonAuxCount } from './poseidon-table.ts'

/** Most terms of one linear combination that the digest can sort. */
const MAXIMUM_TERMS = 4096
const TEMPLATE_WORDS = 16
const AUX_CLASSES = ['bit', 'wide', 'derived'] as const
const NO_WIRES = new Uint32Array(0)

/** A serialised shape, and what its numbers mean. */
export interface ShapeImage {
  readonly words: Uint32Array
  /** Byte offset of each template within the image. */
  readonly templateOffsets: ReadonlyMap<Template, number>
  /** Poseidon instances that templates refer to, by number. */
  readonly poseidons: readonly { readonly arity: number; readonly domainTag: bigint }[]
}

/**
 * The steps of a template with those between two children in the order aux, inputs, rows (which is free to choose, see
 * `Step`): a witness is filled in before the rows that read it.
 */
export function normalizedSteps(template: Template): readonly Step[] {
  const rank = { aux: 0, input: 1, rows: 2, child: 3 } as const
  const steps: Step[] = []
  let segment: Step[] = []
  for (const step of template.steps) {
    segment.push(step)
    if (step.kind === 'child') {
      steps.push(...segment.sort((a, b) => rank[a.kind] - rank[b.kind]))
      segment = []
    }
  }
  steps.push(...segment.sort((a, b) => rank[a.kind] - rank[b.kind]))
  return steps
}

/** All templates of a circuit, children before their parents. */
export function collectTemplates(root: Template): Template[] {
  const found = new Set<Template>()
  const visit = (template: Template): void => {
    if (found.has(template)) return
    for (const step of template.steps) if (step.kind === 'child') visit(step.template)
    found.add(template)
  }
  visit(root)
  return [...found]
}

/**
 * Serialises a shape.
 * @throws {Error} a shape that contradicts itself; none of this package's circuits does
 */
export function serializeShape(shape: Pick<CircuitShape, 'root' | 'coefficients'>): ShapeImage {
  const templates = collectTemplates(shape.root)
  const poseidons: { arity: number; domainTag: bigint }[] = []
  const templateOffsets = new Map<Template, number>()
  let length = templates.length * TEMPLATE_WORDS
  for (const [i, template] of templates.entries()) {
    validate(template, shape.coefficients.length)
    templateOffsets.set(template, i * TEMPLATE_WORDS * 4)
    const { matrix, steps } = template
    length += matrix.rows * 2 + matrix.termStart.length + matrix.termVariable.length * 2
    for (const step of steps) length += 4 + (step.kind === 'child' ? step.wires.length : 0)
  }

  const words = new Uint32Array(length)
  let next = templates.length * TEMPLATE_WORDS
  for (const [i, template] of templates.entries()) {
    const { matrix, totals, wires } = template
    const steps = normalizedSteps(template)
    const stepsAt = next
    let wiresAt = stepsAt + steps.length * 4
    for (const [s, step] of steps.entries()) {
      words.set(stepWords(step, templateOffsets, wiresAt * 4), stepsAt + s * 4)
      const stepWires = step.kind === 'child' ? step.wires : NO_WIRES
      words.set(stepWires, wiresAt)
      wiresAt += stepWires.length
    }
    const recordsAt = wiresAt
    const startsAt = recordsAt + matrix.rows * 2
    for (let row = 0; row < matrix.rows; row++) {
      words[recordsAt + 2 * row] = rowPlan(matrix, row)
      words[recordsAt + 2 * row + 1] = matrix.defines[row] as number
    }
    words.set(matrix.termStart, startsAt)
    const termsAt = startsAt + matrix.termStart.length
    for (const [t, variable] of matrix.termVariable.entries()) {
      words[termsAt + 2 * t] = variable
      words[termsAt + 2 * t + 1] = matrix.termCoefficient[t] as number
    }
    next = termsAt + 2 * matrix.termVariable.length
    const { poseidon } = template
    let table = 0
    if (poseidon !== undefined) {
      const same = (p: typeof poseidon): boolean => p.arity === poseidon.arity && p.domainTag === poseidon.domainTag
      table = poseidons.findIndex(same) + 1 || poseidons.push(poseidon)
    }
    words.set(
      [i, wires, totals.rows, totals.aux, totals.inputs, totals.bits, totals.wide, matrix.rows, steps.length],
      i * TEMPLATE_WORDS,
    )
    words.set([stepsAt * 4, recordsAt * 4, startsAt * 4, termsAt * 4, table], i * TEMPLATE_WORDS + 9)
  }
  return { words, templateOffsets, poseidons }
}

function stepWords(step: Step, offsets: ReadonlyMap<Template, number>, wiresOffset: number): number[] {
  switch (step.kind) {
    case 'aux':
      return [0, AUX_CLASSES.indexOf(step.class), step.count]
    case 'input':
      return [1, step.count]
    case 'rows':
      return [2, step.first, step.count]
    case 'child':
      return [3, offsets.get(step.template) as number, wiresOffset]
  }
}

// How a device evaluates a side of a row; rows.ts of the AssemblyScript module and wgsl/rows/ have the same numbers.
const ZERO = 0
const CONSTANT_ONE = 1
const EVALUATE = 2
const FROM_C = 3
const SAME_AS_A = 4

/** The cheapest way to A·z (low byte) and B·z (next byte) of a row that is known to hold. */
export function rowPlan({ termStart, termVariable, termCoefficient }: RowMatrix, row: number): number {
  const [a, b, c, end] = termStart.subarray(3 * row, 3 * row + 4) as unknown as [number, number, number, number]
  const isOne = (from: number, to: number): boolean =>
    to - from === 1 && termVariable[from] === ONE && termCoefficient[from] === 0
  const same = (from: number, to: number, other: number): boolean => {
    for (let i = from; i < to; i++) {
      const j = other + i - from
      if (termVariable[i] !== termVariable[j] || termCoefficient[i] !== termCoefficient[j]) return false
    }
    return true
  }
  let planA = EVALUATE
  if (a === b) planA = ZERO
  else if (isOne(a, b)) planA = CONSTANT_ONE
  else if (isOne(b, c) && end - c < b - a) planA = FROM_C
  let planB = EVALUATE
  if (b === c) planB = ZERO
  else if (isOne(b, c)) planB = CONSTANT_ONE
  else if (planA === EVALUATE && b - a === c - b && same(a, b, b)) planB = SAME_AS_A
  return planA | (planB << 8)
}

function validate(template: Template, coefficients: number): void {
  const { matrix, totals, wires, name } = template
  const refuse = (what: string): never => {
    throw new Error(`Template ${name}: ${what}`)
  }
  const check = (variable: Variable | undefined): void => {
    const number = (variable as number) & NUMBER_MASK
    const kind = ((variable as number) & KIND_MASK) >>> 0
    if (variable === ONE) return
    const limit = kind === AUX ? totals.aux : kind === INPUT ? totals.inputs : kind === 0 ? wires : 0
    if (!(number < limit)) refuse(`variable ${variable?.toString(16)} is out of range`)
  }
  const counted = { rows: 0, aux: 0, inputs: 0, bits: 0, wide: 0, derived: 0 }
  let ownRows = 0
  for (const step of template.steps) {
    if (step.kind === 'aux') {
      counted.aux += step.count
      counted[step.class === 'bit' ? 'bits' : step.class] += step.count
    } else if (step.kind === 'input') counted.inputs += step.count
    else if (step.kind === 'rows') {
      if (step.first !== ownRows) refuse('rows are out of order')
      ownRows += step.count
      counted.rows += step.count
    } else {
      if (step.wires.length !== step.template.wires) refuse(`${step.template.name} has wrong wires`)
      step.wires.forEach(check)
      for (const key of Object.keys(counted) as (keyof typeof counted)[]) counted[key] += step.template.totals[key]
    }
  }
  for (const key of Object.keys(counted) as (keyof typeof counted)[]) {
    if (counted[key] !== totals[key]) refuse(`its steps have ${counted[key]} ${key}, its totals say ${totals[key]}`)
  }
  if (totals.aux + totals.inputs > NUMBER_MASK) refuse('too many variables')
  const { rows, termStart, termVariable, termCoefficient } = matrix
  if (ownRows !== rows || termStart.length !== 3 * rows + 1 || matrix.defines.length !== rows)
    refuse('rows are missing')
  if (termStart[3 * rows] !== termVariable.length || termStart[0] !== 0) refuse('terms are missing')
  termVariable.forEach(check)
  if (termCoefficient.some((number) => number >= coefficients)) refuse('a coefficient is out of range')
  for (let i = 0; i < 3 * rows; i++) {
    const terms = (termStart[i + 1] as number) - (termStart[i] as number)
    if (!(terms >= 0 && terms <= MAXIMUM_TERMS)) refuse(`a linear combination has ${terms} terms`)
  }
  for (const [row, defines] of matrix.defines.entries()) {
    if (defines === DEFINES_NOTHING) continue
    const c = termVariable.subarray(termStart[3 * row + 2], termStart[3 * row + 3])
    const at = c.indexOf((AUX | defines) >>> 0)
    if (at < 0 || (termCoefficient[(termStart[3 * row + 2] as number) + at] as number) > 1) {
      refuse(`row ${row} can't define variable ${defines}`)
    }
  }
  const { poseidon } = template
  if (poseidon !== undefined) {
    const aux = poseidonAuxCount(poseidon.arity)
    if (wires !== poseidon.arity || totals.aux !== aux || totals.derived !== aux || totals.inputs !== 0) {
      refuse('is no Poseidon permutation')
    }
  }
}
