/** What a template holds besides its children, as words that kernels read. */
import type { Template } from '../../circuit/shape.ts'
import { collectTemplates, rowPlan } from '../../cpu/circuit-machine/image.ts'

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

/** (variable, coefficient number) of every term. */
export function termWords({ matrix }: Template): Uint32Array {
  const words = new Uint32Array(2 * matrix.termVariable.length)
  for (const [t, variable] of matrix.termVariable.entries()) {
    words[2 * t] = variable
    words[2 * t + 1] = matrix.termCoefficient[t] as number
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

export function tableLayout(template: Template, instances: number): TableLayout {
  const { matrix, wires } = template
  const recordWords = RECORD_HEAD + wires
  const rowsAt = instances * recordWords
  const termsAt = rowsAt + matrix.rows * ROW_WORDS
  const slotsAt = termsAt + 2 * matrix.termVariable.length
  return { recordWords, rowsAt, termsAt, slotsAt, words: slotsAt + ownParts(template).slots.length }
}
