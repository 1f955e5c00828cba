/** What a template holds besides its children, as words that kernels read. */
import type { CoefficientTable, Template } from '../../circuit/shape.ts'
import { collectTemplates, rowPlan } from '../../cpu/circuit-machine/image.ts'
import { FR_MODULUS } from '../../field/fr.ts'

/** Words of a record before its wires; wgsl/rows/variables.wgsl has the same. */
export const RECORD_HEAD = 5
/** Words of a row: offset from the instance's first row, plan, starts of A, B, C and their end, defined variable. */
export const ROW_WORDS = 8
const BIT_SLOT = 0x8000_0000

/** What a template holds besides its children. */
export interface OwnParts {
  /** Offset of each own row from the instance's first. */
  readonly rowOffsets: Uint32Array
  /** (local aux variable, its number among the bits (top bit set) or wide scalars). */
  readonly slots: Uint32Array
  /** Whether it has derived variables. */
  readonly derives: boolean
  /** Whether any instance needs a record. */
  readonly present: boolean
}

const partsOf = new WeakMap<Template, OwnParts>()

/** Of a template alone, without what it nests. */
export function ownParts(template: Template): OwnParts {
  const known = partsOf.get(template)
  if (known !== undefined) return known
  const rowOffsets = new Uint32Array(template.matrix.rows)
  const slots: number[] = []
  let derives = false
  const at = { rows: 0, aux: 0, bits: 0, wide: 0 }
  for (const step of template.steps) {
    if (step.kind === 'rows') {
      for (let i = 0; i < step.count; i++) rowOffsets[step.first + i] = at.rows++
    } else if (step.kind === 'aux') {
      for (let i = 0; i < step.count; i++, at.aux++) {
        if (step.class === 'bit') slots.push(at.aux, BIT_SLOT + at.bits++)
        else if (step.class === 'wide') slots.push(at.aux, at.wide++)
        else derives = true
      }
    } else if (step.kind === 'child') {
      const { totals } = step.template
      at.rows += totals.rows
      at.aux += totals.aux
      at.bits += totals.bits
      at.wide += totals.wide
    }
  }
  const present = rowOffsets.length > 0 || slots.length > 0 || derives
  const parts = { rowOffsets, slots: Uint32Array.from(slots), derives, present }
  partsOf.set(template, parts)
  return parts
}

/** How many instances each template of a circuit has; children before their parents. */
export function templateCounts(root: Template): Map<Template, number> {
  const templates = collectTemplates(root)
  const counts = new Map(templates.map((template) => [template, template === root ? 1 : 0]))
  for (const template of templates.reverse()) {
    const count = counts.get(template) as number
    for (const step of template.steps) {
      if (step.kind === 'child') counts.set(step.template, (counts.get(step.template) as number) + count)
    }
  }
  return counts
}

/** Own rows, {@link ROW_WORDS} words each. */
export function rowWords(template: Template): Uint32Array {
  const { matrix } = template
  const { rowOffsets } = ownParts(template)
  const words = new Uint32Array(matrix.rows * ROW_WORDS)
  for (let row = 0; row < matrix.rows; row++) {
    const at = row * ROW_WORDS
    words[at] = rowOffsets[row] as number
    words[at + 1] = rowPlan(matrix, row)
    for (let k = 0; k < 4; k++) words[at + 2 + k] = matrix.termStart[3 * row + k] as number
    words[at + 6] = matrix.defines[row] as number
  }
  return words
}

/**
 * Coefficients of at most this size stand in the terms themselves: a sum of plain digits takes them without a
 * multiplication. Together those of one combination may be so large that its top digit is still what a multiplication
 * takes (2^13, for 2^10 r).
 */
const MOST_SMALL = 16
const MOST_SMALL_SUM = 512
/** A small coefficient as a word: wgsl/rows/combination.wgsl has the same. */
const SMALL = 0x8000_0000
const SMALL_ORIGIN = 0x8000

/** (variable, coefficient: a small integer, or its number) of every term. */
export function termWords({ matrix }: Template, coefficients: CoefficientTable): Uint32Array {
  const { termStart, termVariable, termCoefficient } = matrix
  const small = coefficients.map((value) => {
    const signed = value > FR_MODULUS / 2n ? value - FR_MODULUS : value
    return signed >= -MOST_SMALL && signed <= MOST_SMALL ? Number(signed) : undefined
  })
  const words = new Uint32Array(2 * termVariable.length)
  for (let i = 0; i < 3 * matrix.rows; i++) {
    const [from, to] = [termStart[i] as number, termStart[i + 1] as number]
    let sum = 0
    for (let t = from; t < to; t++) sum += Math.abs(small[termCoefficient[t] as number] ?? 0)
    for (let t = from; t < to; t++) {
      const number = termCoefficient[t] as number
      const value = sum <= MOST_SMALL_SUM ? small[number] : undefined
      words[2 * t] = termVariable[t] as number
      words[2 * t + 1] = value === undefined ? number : SMALL + SMALL_ORIGIN + value
    }
  }
  return words
}

/** Where the parts of a template's table begin, in words: instance records, then rows, terms and slots. */
export interface TableLayout {
  readonly recordWords: number
  readonly rowsAt: number
  readonly termsAt: number
  readonly slotsAt: number
  /** Words of the table. */
  readonly words: number
}

/** Where each part of a template's table begins, in words. */
export function tableLayout(template: Template, instances: number): TableLayout {
  const { matrix, wires } = template
  const recordWords = RECORD_HEAD + wires
  const rowsAt = instances * recordWords
  const termsAt = rowsAt + matrix.rows * ROW_WORDS
  const slotsAt = termsAt + 2 * matrix.termVariable.length
  return { recordWords, rowsAt, termsAt, slotsAt, words: slotsAt + ownParts(template).slots.length }
}
