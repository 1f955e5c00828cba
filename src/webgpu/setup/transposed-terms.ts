/**
 * The transpose of a circuit's matrices, template by template: what each variable gets from the rows.
 *
 * For one side X of the constraints (A, B or C) the sums Σ_j X[j, v] · L_j are wanted for every variable v. A
 * template's rows add to its own variables, which no other instance touches, and to its *wires* and ONE, which many do.
 * What an instance and those inside it add to a wire is therefore kept apart, in a *slot* of its own; the parent adds
 * the slots of its children to the variables that it wired them to, which again are its own, or slots. So no two
 * threads ever add to one place, and sums over a whole circuit are trees that follow its nesting.
 *
 * Slots of an instance are consecutive, those of its children first: where they begin is a number of the instance, as
 * where its rows and variables begin. A list of terms that is long for one thread is cut, and its parts are slots too.
 */
import { AUX, INPUT, KIND_MASK, NUMBER_MASK, ONE, type Template, type Variable, WIRE } from '../../circuit/shape.ts'

/** Words of an instance, and 4 for offsets that count from 0; wgsl/setup/accumulate.wgsl has the same. */
export const BASE = { rows: 0, aux: 1, inputs: 2, slots: 3, none: 4 } as const
type Base = (typeof BASE)[keyof typeof BASE]

/** Terms that one thread adds up at most: few enough to keep sums far inside what digits hold. */
const MOST_TERMS = 128

/** Outputs of one template that read one vector and write to one, none of which needs what another writes. */
export interface Stage {
  readonly template: Template
  readonly source: typeof BASE.rows | typeof BASE.slots
  readonly target: Base
  readonly firstOutput: number
  readonly outputs: number
  readonly terms: number
  /** Least and greatest offset that is read, and written. */
  readonly sources: readonly [number, number]
  readonly targets: readonly [number, number]
}

/** All stages of one side, in an order in which what they read is complete. */
export interface SidePlan {
  readonly stages: readonly Stage[]
  /** (target's offset, number of the first term) of every output, and the end. */
  readonly outputs: Uint32Array
  /** (source's offset, coefficient number) of every term. */
  readonly terms: Uint32Array
}

/** Where a child begins, counted from its parent. */
export interface ChildPlace {
  readonly template: Template
  readonly wires: Uint32Array
  readonly rows: number
  readonly aux: number
  readonly inputs: number
  readonly slots: number
}

/** A template's children, and how many slots its instances have, those of children included. */
export interface TemplatePlaces {
  readonly children: readonly ChildPlace[]
  readonly slots: number
}

/** A circuit's terms by variable, and what nested templates add to those of their parents. */
export interface TransposePlan {
  /** Children before parents; the root is the last. */
  readonly templates: readonly Template[]
  readonly places: ReadonlyMap<Template, TemplatePlaces>
  readonly sides: readonly [SidePlan, SidePlan, SidePlan]
}

/**
 * @param constraints rows of the circuit: the row `input · 0 = 0` of input k follows as row constraints + k, in A only
 */
export function transposePlan(root: Template, inputs: number, constraints: number): TransposePlan {
  const templates = postOrder(root)
  const places = new Map<Template, TemplatePlaces>()
  const builders = [new SideBuilder(0), new SideBuilder(1), new SideBuilder(2)] as const
  for (const template of templates) {
    const { children, rowOffsets, childSlots } = layOut(template, places)
    const ends = builders.map((builder) => {
      const appended = template === root && builder.side === 0 ? { inputs, constraints } : undefined
      return builder.add(template, { children, rowOffsets, ownSlots: childSlots, root: template === root, appended })
    })
    places.set(template, { children, slots: Math.max(...ends) })
  }
  return { templates, places, sides: [builders[0].plan(), builders[1].plan(), builders[2].plan()] }
}

function postOrder(root: Template): Template[] {
  const order: Template[] = []
  const seen = new Set<Template>()
  const visit = (template: Template): void => {
    if (seen.has(template)) return
    seen.add(template)
    for (const step of template.steps) if (step.kind === 'child') visit(step.template)
    order.push(template)
  }
  visit(root)
  return order
}

/** Offsets of a template's own rows and of its children. */
function layOut(
  template: Template,
  places: ReadonlyMap<Template, TemplatePlaces>,
): { readonly children: ChildPlace[]; readonly rowOffsets: Uint32Array; readonly childSlots: number } {
  const children: ChildPlace[] = []
  const rowOffsets = new Uint32Array(template.matrix.rows)
  let [rows, aux, inputs, slots] = [0, 0, 0, 0]
  for (const step of template.steps) {
    if (step.kind === 'rows') for (let i = 0; i < step.count; i++) rowOffsets[step.first + i] = rows++
    else if (step.kind === 'aux') aux += step.count
    else if (step.kind === 'input') inputs += step.count
    else {
      const { totals } = step.template
      children.push({ template: step.template, wires: step.wires, rows, aux, inputs, slots })
      rows += totals.rows
      aux += totals.aux
      inputs += totals.inputs
      slots += (places.get(step.template) as TemplatePlaces).slots
    }
  }
  return { children, rowOffsets, childSlots: slots }
}

interface Laid {
  readonly children: readonly ChildPlace[]
  readonly rowOffsets: Uint32Array
  /** Where the template's own slots begin: one a wire, then ONE's, then parts of long lists. */
  readonly ownSlots: number
  readonly root: boolean
  readonly appended: { readonly inputs: number; readonly constraints: number } | undefined
}

/** (offset, coefficient number) pairs by variable. */
type Lists = ReadonlyMap<Variable, number[]>

class SideBuilder {
  readonly side: 0 | 1 | 2
  readonly #stages: Stage[] = []
  readonly #outputs: number[] = []
  readonly #terms: number[] = []
  /**
   * Of each template: its slots that anything is added to, counted from its first own one, by wire (ONE's follows the
   * wires').
   */
  readonly #used = new Map<Template, { readonly first: number; readonly wires: ReadonlySet<number> }>()

  constructor(side: 0 | 1 | 2) {
    this.side = side
  }

  /** @returns how many slots the template's instances need for this side */
  add(template: Template, laid: Laid): number {
    const rows = this.#rowTerms(template, laid)
    const slots = this.#slotTerms(laid.children)
    const stages = new StageLists()
    let next = laid.ownSlots + template.wires + 1
    // The parts of a list that is cut are slots, to be added up one level later.
    const cut = (level: number, source: Stage['source'], list: readonly number[]): number[] => {
      const parts: number[] = []
      for (let at = 0; at < list.length; at += 2 * MOST_TERMS) {
        stages.add(level, source, BASE.slots, next, list.slice(at, at + 2 * MOST_TERMS))
        parts.push(next++, 0)
      }
      return parts
    }
    const wires = new Set<number>()
    for (const variable of new Set([...rows.keys(), ...slots.keys()])) {
      const [target, offset] = this.#target(variable, template, laid)
      if (target === BASE.slots) wires.add(offset - laid.ownSlots)
      let fromSlots = slots.get(variable) ?? []
      const fromRows = rows.get(variable) ?? []
      if (fromRows.length > 2 * MOST_TERMS) fromSlots = [...fromSlots, ...cut(0, BASE.rows, fromRows)]
      else if (fromRows.length > 0) stages.add(0, BASE.rows, target, offset, fromRows)
      let level = 1
      for (; fromSlots.length > 2 * MOST_TERMS; level++) fromSlots = cut(level, BASE.slots, fromSlots)
      if (fromSlots.length > 0) stages.add(level, BASE.slots, target, offset, fromSlots)
    }
    this.#used.set(template, { first: laid.ownSlots, wires })
    for (const stage of stages.sorted()) this.#write(template, stage)
    return next
  }

  plan(): SidePlan {
    const outputs = new Uint32Array(this.#outputs.length + 2)
    outputs.set(this.#outputs)
    outputs[this.#outputs.length + 1] = this.#terms.length / 2
    return { stages: this.#stages, outputs, terms: Uint32Array.from(this.#terms) }
  }

  #rowTerms({ matrix }: Template, { rowOffsets, appended }: Laid): Lists {
    const lists = new Map<Variable, number[]>()
    for (let row = 0; row < matrix.rows; row++) {
      const end = matrix.termStart[3 * row + this.side + 1] as number
      for (let term = matrix.termStart[3 * row + this.side] as number; term < end; term++) {
        const variable = matrix.termVariable[term] as Variable
        push(lists, variable, rowOffsets[row] as number, matrix.termCoefficient[term] as number)
      }
    }
    if (appended !== undefined) {
      for (let k = 0; k < appended.inputs; k++) {
        push(lists, k === 0 ? ONE : (INPUT | (k - 1)) >>> 0, appended.constraints + k, 0)
      }
    }
    return lists
  }

  #slotTerms(children: readonly ChildPlace[]): Lists {
    const lists = new Map<Variable, number[]>()
    for (const child of children) {
      const { first, wires } = this.#used.get(child.template) as { first: number; wires: ReadonlySet<number> }
      for (const wire of wires) {
        const variable = wire === child.template.wires ? ONE : (child.wires[wire] as Variable)
        push(lists, variable, child.slots + first + wire, 0)
      }
    }
    return lists
  }

  #target(variable: Variable, template: Template, { ownSlots, root }: Laid): readonly [Base, number] {
    if (variable === ONE) return root ? [BASE.none, 0] : [BASE.slots, ownSlots + template.wires]
    const number = variable & NUMBER_MASK
    switch ((variable & KIND_MASK) >>> 0) {
      case WIRE:
        return [BASE.slots, ownSlots + number]
      case AUX:
        return [BASE.aux, number]
      default:
        return [BASE.inputs, number]
    }
  }

  #write(template: Template, { source, target, outputs }: StageList): void {
    const firstOutput = this.#outputs.length / 2
    const firstTerm = this.#terms.length / 2
    const sources = new Span()
    const targets = new Span()
    // Lists of equal length side by side: threads of a workgroup end together.
    outputs.sort((x, y) => y.list.length - x.list.length)
    for (const { offset, list } of outputs) {
      this.#outputs.push(offset, this.#terms.length / 2)
      targets.add(offset)
      for (let t = 0; t < list.length; t += 2) {
        sources.add(list[t] as number)
        this.#terms.push(list[t] as number, list[t + 1] as number)
      }
    }
    const terms = this.#terms.length / 2 - firstTerm
    this.#stages.push({
      template,
      source,
      target,
      firstOutput,
      outputs: outputs.length,
      terms,
      sources: sources.ends,
      targets: targets.ends,
    })
  }
}

const push = (lists: Map<Variable, number[]>, variable: Variable, offset: number, coefficient: number): void => {
  const list = lists.get(variable)
  if (list === undefined) lists.set(variable, [offset, coefficient])
  else list.push(offset, coefficient)
}

class Span {
  ends: [number, number] = [Number.POSITIVE_INFINITY, 0]

  add(value: number): void {
    this.ends[0] = Math.min(this.ends[0], value)
    this.ends[1] = Math.max(this.ends[1], value)
  }
}

interface StageList {
  readonly level: number
  readonly source: Stage['source']
  readonly target: Base
  readonly outputs: { readonly offset: number; readonly list: readonly number[] }[]
}

/** Outputs of a template by level, source and target. */
class StageLists {
  readonly #stages = new Map<number, StageList>()

  add(level: number, source: Stage['source'], target: Base, offset: number, list: readonly number[]): void {
    const key = 64 * level + 8 * source + target
    let stage = this.#stages.get(key)
    if (stage === undefined) {
      stage = { level, source, target, outputs: [] }
      this.#stages.set(key, stage)
    }
    stage.outputs.push({ offset, list })
  }

  sorted(): StageList[] {
    return [...this.#stages.values()].sort((x, y) => x.level - y.level)
  }
}
