/**
 * Where every instance of every template begins: its rows, variables, inputs and slots, in the order of the circuit.
 */
import type { Template } from '../../circuit/shape.ts'
import type { TransposePlan } from './transposed-terms.ts'

/** Words of an instance. */
export const INSTANCE_WORDS = 4

/** Where the instances of a template stand in the list of all. */
export interface InstanceRange {
  /** Number of the template's first instance. */
  readonly first: number
  readonly count: number
}

/** All instances of a circuit, template by template. */
export interface SetupInstances {
  /**
   * {@link INSTANCE_WORDS} words each, in the order of `BASE`; a template's are consecutive, and every word of them
   * rises.
   */
  readonly words: Uint32Array
  readonly ranges: ReadonlyMap<Template, InstanceRange>
}

/** @param inputs public inputs, ONE included: in a vector of all variables, aux variables come behind them */
export function setupInstances({ templates, places }: TransposePlan, inputs: number): SetupInstances {
  const counts = instanceCounts({ templates, places })
  const ranges = new Map<Template, InstanceRange>()
  const next = new Map<Template, number>()
  let total = 0
  for (const [template, count] of counts) {
    ranges.set(template, { first: total, count })
    next.set(template, INSTANCE_WORDS * total)
    total += count
  }
  const words = new Uint32Array(INSTANCE_WORDS * total)
  const visit = (template: Template, rows: number, aux: number, input: number, slots: number): void => {
    const at = next.get(template) as number
    next.set(template, at + INSTANCE_WORDS)
    words[at] = rows
    words[at + 1] = aux
    words[at + 2] = input
    words[at + 3] = slots
    for (const child of places.get(template)?.children ?? []) {
      visit(child.template, rows + child.rows, aux + child.aux, input + child.inputs, slots + child.slots)
    }
  }
  // Input 0 is ONE, which the root's own inputs follow.
  visit(templates[templates.length - 1] as Template, 0, inputs, 1, 0)
  return { words, ranges }
}

function instanceCounts({ templates, places }: Pick<TransposePlan, 'templates' | 'places'>): Map<Template, number> {
  const counts = new Map<Template, number>(templates.map((template) => [template, 0]))
  counts.set(templates[templates.length - 1] as Template, 1)
  for (const template of [...templates].reverse()) {
    const count = counts.get(template) as number
    for (const child of places.get(template)?.children ?? []) {
      counts.set(child.template, (counts.get(child.template) as number) + count)
    }
  }
  return counts
}
