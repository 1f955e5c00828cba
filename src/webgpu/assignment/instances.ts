/**
 * A circuit's shape as the row kernels want it: for each template that has rows, bits or wide scalars of its own, one record an
 * instance, in the order in which derived variables become known.
 *
 * A derived variable may depend on others (a Merkle level on the one below). The depth of an instance is one more than the greatest
 * depth behind its wires; instances of equal depth are independent and go into one dispatch.
 */
import {
  AUX,
  type CircuitShape,
  INPUT,
  KIND_MASK,
  NUMBER_MASK,
  ONE,
  type Template,
  type Variable,
} from '../../circuit/shape.ts'
import { rowPlan } from '../../cpu/circuit-machine/image.ts'

/** Words of a record before its wires; wgsl/rows/variables.wgsl has the same. */
const RECORD_HEAD = 5
const ROW_WORDS = 8
const BIT_SLOT = 0x8000_0000

/** Instances `first` up to `first + count` of a template, all of one depth. */
export interface Batch {
  readonly template: TemplateData
  readonly depth: number
  readonly first: number
  readonly count: number
}

/** A template's own rows and variables, and its instances. */
export interface TemplateData {
  readonly template: Template
  readonly recordWords: number
  /** One record an instance, sorted by depth. */
  readonly records: Uint32Array
  readonly instances: number
  /** Own rows, {@link ROW_WORDS} words each: offset from the instance's first row, plan, starts of A, B, C and their end, defined variable. */
  readonly rows: Uint32Array
  readonly rowCount: number
  /** (variable, coefficient number) of every term. */
  readonly terms: Uint32Array
  /** (local aux variable, its number among the bits or wide scalars). */
  readonly slots: Uint32Array
  readonly slotCount: number
  readonly derives: boolean
}

export interface ShapeInstances {
  readonly templates: readonly TemplateData[]
  /** What derives variables, by rising depth. */
  readonly deriving: readonly Batch[]
}

interface Collected {
  readonly template: Template
  readonly own: OwnParts
  readonly byDepth: number[][]
}

/** What a template holds besides its children. */
interface OwnParts {
  readonly rowOffsets: number[]
  readonly slots: number[]
  readonly derives: boolean
  /** Whether any instance needs a record. */
  readonly present: boolean
}

/** Where an instance begins. */
interface Bases {
  rows: number
  aux: number
  inputs: number
  bits: number
  wide: number
}

export function shapeInstances(shape: CircuitShape): ShapeInstances {
  const collected = new Map<Template, Collected>()
  // Inputs of z: ONE, then the root's.
  visit(shape.root, { rows: 0, aux: shape.inputs, inputs: 1, bits: 0, wide: 0 }, [], [], collected)
  const templates: TemplateData[] = []
  const deriving: Batch[] = []
  for (const { template, own, byDepth } of collected.values()) {
    const recordWords = RECORD_HEAD + template.wires
    const records = new Uint32Array(byDepth.reduce((sum, words) => sum + (words?.length ?? 0), 0))
    const data: TemplateData = {
      template,
      recordWords,
      records,
      instances: records.length / recordWords,
      rows: rowWords(template, own.rowOffsets),
      rowCount: template.matrix.rows,
      terms: termWords(template),
      slots: Uint32Array.from(own.slots),
      slotCount: own.slots.length / 2,
      derives: own.derives,
    }
    templates.push(data)
    let at = 0
    for (const [depth, words] of byDepth.entries()) {
      if (words === undefined) continue
      records.set(words, at)
      if (own.derives)
        deriving.push({ template: data, depth, first: at / recordWords, count: words.length / recordWords })
      at += words.length
    }
  }
  deriving.sort((a, b) => a.depth - b.depth)
  return { templates, deriving }
}

const partsOf = new WeakMap<Template, OwnParts>()

function ownParts(template: Template): OwnParts {
  const known = partsOf.get(template)
  if (known !== undefined) return known
  const rowOffsets: number[] = []
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
  const parts = { rowOffsets, slots, derives, present }
  partsOf.set(template, parts)
  return parts
}

/**
 * Records an instance and those inside it.
 * @param wires places in z
 * @param wireDepths depth of each wire's value; sent values have depth −1
 * @returns the greatest depth of a value in the instance
 */
function visit(
  template: Template,
  bases: Bases,
  wires: readonly number[],
  wireDepths: readonly number[],
  collected: Map<Template, Collected>,
): number {
  const own = ownParts(template)
  let deepest = -1
  let ownDepth = -1
  for (const depth of wireDepths) ownDepth = Math.max(ownDepth, depth)
  // Children by the aux range they take, to find the depth of what a later one reads.
  const children: { readonly end: number; readonly start: number; readonly depth: number }[] = []
  const at: Bases = { ...bases }
  const resolve = (variable: Variable): { place: number; depth: number } => {
    if (variable === ONE) return { place: 0, depth: -1 }
    const number = variable & NUMBER_MASK
    const kind = (variable & KIND_MASK) >>> 0
    if (kind === AUX) {
      const place = bases.aux + number
      const child = children.find(({ start, end }) => place >= start && place < end)
      return { place, depth: child?.depth ?? -1 }
    }
    if (kind === INPUT) return { place: bases.inputs + number, depth: -1 }
    return { place: wires[number] as number, depth: wireDepths[number] as number }
  }
  for (const step of template.steps) {
    if (step.kind === 'rows') at.rows += step.count
    else if (step.kind === 'input') at.inputs += step.count
    else if (step.kind === 'aux') {
      at.aux += step.count
      if (step.class === 'bit') at.bits += step.count
      if (step.class === 'wide') at.wide += step.count
    } else {
      const resolved = Array.from(step.wires, resolve)
      const places = resolved.map(({ place }) => place)
      const depths = resolved.map(({ depth }) => depth)
      const depth = visit(step.template, { ...at }, places, depths, collected)
      const { totals } = step.template
      children.push({ start: at.aux, end: at.aux + totals.aux, depth })
      deepest = Math.max(deepest, depth)
      at.rows += totals.rows
      at.aux += totals.aux
      at.inputs += totals.inputs
      at.bits += totals.bits
      at.wide += totals.wide
    }
  }
  if (own.present) {
    // Own derived variables that read a child's come after it; those of a leaf, after its wires.
    const depth = own.derives ? Math.max(ownDepth, deepest) + 1 : 0
    let entry = collected.get(template)
    if (entry === undefined) {
      entry = { template, own, byDepth: [] }
      collected.set(template, entry)
    }
    entry.byDepth[depth] ??= []
    const words = entry.byDepth[depth] as number[]
    words.push(bases.rows, bases.aux, bases.inputs, bases.bits, bases.wide, ...wires)
    if (own.derives) deepest = Math.max(deepest, depth)
  }
  return deepest
}

function rowWords({ matrix }: Template, offsets: readonly number[]): Uint32Array {
  const words = new Uint32Array(matrix.rows * ROW_WORDS)
  for (let row = 0; row < matrix.rows; row++) {
    const [a, b, c, end] = matrix.termStart.subarray(3 * row, 3 * row + 4) as unknown as [
      number,
      number,
      number,
      number,
    ]
    words.set(
      [offsets[row] as number, rowPlan(matrix, row), a, b, c, end, matrix.defines[row] as number],
      row * ROW_WORDS,
    )
  }
  return words
}

function termWords({ matrix }: Template): Uint32Array {
  const words = new Uint32Array(2 * matrix.termVariable.length)
  for (const [t, variable] of matrix.termVariable.entries()) {
    words[2 * t] = variable
    words[2 * t + 1] = matrix.termCoefficient[t] as number
  }
  return words
}
