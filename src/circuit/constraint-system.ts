/**
 * Recording circuits as nested templates (see `shape.ts`).
 *
 * A gadget is a function that allocates variables and enforces rows on a {@link ConstraintSystem}.
 * {@link ConstraintSystem.template} runs a gadget once for each form of its operands, on local wires, and afterwards
 * only counts: so a circuit of 125 million rows is recorded in the time of the few thousand that differ.
 */

import { FR_MODULUS, frReduce } from '../field/fr.ts'
import type { Bit } from './bit.ts'
import type { LinearCombination } from './linear-combination.ts'
import {
  AUX,
  type AuxClass,
  auxVariable,
  type CoefficientTable,
  DEFINES_NOTHING,
  INPUT,
  inputVariable,
  KIND_MASK,
  NUMBER_MASK,
  ONE,
  type RowMatrix,
  type Step,
  type Template,
  type TemplateTotals,
  type Variable,
  WIRE,
  wireVariable,
} from './shape.ts'

/** What a gadget reads, or returns: numbers are variables, bits also know negation and constants. */
export interface Operands {
  readonly nums?: readonly Variable[] | undefined
  readonly bits?: readonly Bit[] | undefined
}

/** Operands as a gadget's body gets them, and as a recorded gadget returns them. */
export interface Values {
  readonly nums: readonly Variable[]
  readonly bits: readonly Bit[]
}

interface Recording {
  readonly template: Template
  /** Results in the template's local variables. */
  readonly results: Values
}

/** What all templates of one circuit share. */
class Registry {
  readonly coefficients: bigint[] = []
  /**
   * Numbers of coefficients as they come, reduced or not, under their nearest double: V8 hashes a bigint by its lowest
   * 64 bits, which most powers of two have in common.
   */
  readonly #numbers = new Map<number, { readonly coefficient: bigint; readonly number: number }[]>()
  readonly #recordings = new Map<string, Recording>()
  readonly #forms = new Map<string, number>()
  readonly #arrays = new Map<number, Uint32Array[]>()

  constructor() {
    this.number(1n)
    this.number(FR_MODULUS - 1n)
  }

  /** Number of an integer modulo r in the coefficient table, or {@link ZERO}. */
  number(coefficient: bigint): number {
    if (coefficient === 1n && this.coefficients.length > 0) return 0
    const key = Number(coefficient)
    const known = this.#numbers.get(key)
    const found = known?.find((entry) => entry.coefficient === coefficient)
    if (found !== undefined) return found.number
    const reduced = frReduce(coefficient)
    let number = ZERO
    if (reduced !== coefficient) number = this.number(reduced)
    else if (reduced !== 0n) number = this.coefficients.push(coefficient) - 1
    const entry = { coefficient, number }
    if (known === undefined) this.#numbers.set(key, [entry])
    else known.push(entry)
    return number
  }

  /** An array with the same elements that another template has already, or else a new one. */
  share(elements: readonly number[]): Uint32Array {
    let hash = elements.length
    for (const element of elements) hash = (Math.imul(hash, 31) + element) >>> 0
    const candidates = this.#arrays.get(hash) ?? []
    const same = candidates.find(
      (array) => array.length === elements.length && array.every((element, i) => element === elements[i]),
    )
    if (same !== undefined) return same
    const array = Uint32Array.from(elements)
    this.#arrays.set(hash, [...candidates, array])
    return array
  }

  recording(name: string, form: string, record: (uniqueName: string) => Recording): Recording {
    const key = `${name} ${form}`
    let recording = this.#recordings.get(key)
    if (recording === undefined) {
      const count = (this.#forms.get(name) ?? 0) + 1
      this.#forms.set(name, count)
      recording = record(count === 1 ? name : `${name}#${count}`)
      this.#recordings.set(key, recording)
    }
    return recording
  }
}

/** In place of a number in the coefficient table: the coefficient vanishes. */
const ZERO = -1

/** Place of a variable within a linear combination, by the two kind bits: ONE, inputs, wires, aux; each by number. */
const KIND_RANK = [2, 3, 1, 0] as const
function placeOf(variable: Variable): number {
  return (KIND_RANK[variable >>> 30] as number) * (NUMBER_MASK + 1) + (variable & NUMBER_MASK)
}

/** One template under construction; the root of a circuit is made by {@link recordRoot}. */
export class ConstraintSystem {
  readonly #registry: Registry
  readonly #wires: number
  readonly #steps: Step[] = []
  readonly #termStart: number[] = [0]
  readonly #termVariable: number[] = []
  readonly #termCoefficient: number[] = []
  readonly #defines: number[] = []
  readonly #auxBefore: number[] = []
  readonly #inputsBefore: number[] = []
  /** Aux steps, inputs and rows since the last child. */
  #pendingAux: { class: AuxClass; count: number }[] = []
  #pendingInputs = 0
  #pendingFirstRow = 0
  readonly #totals: { -readonly [K in keyof TemplateTotals]: number } = {
    rows: 0,
    aux: 0,
    inputs: 0,
    bits: 0,
    wide: 0,
    derived: 0,
  }
  readonly #undefined = new Set<Variable>()

  /** @internal Gadgets get their constraint system from {@link template} or {@link recordRoot}. */
  constructor(registry: Registry, wires: number) {
    this.#registry = registry
    this.#wires = wires
  }

  /** A new aux variable. One of class `derived` must be defined by a later row of this template. */
  allocate(auxClass: AuxClass): Variable {
    const variable = auxVariable(this.#totals.aux++)
    this.#totals[auxClass === 'bit' ? 'bits' : auxClass]++
    const last = this.#pendingAux.at(-1)
    if (last?.class === auxClass) last.count++
    else this.#pendingAux.push({ class: auxClass, count: 1 })
    if (auxClass === 'derived') this.#undefined.add(variable)
    return variable
  }

  /** A new public input. */
  allocateInput(): Variable {
    this.#pendingInputs++
    return inputVariable(this.#totals.inputs++)
  }

  /**
   * One row, a · b = c.
   * @param defines the derived variable whose value follows from this row: in c only, with coefficient 1 or −1
   */
  enforce(a: LinearCombination, b: LinearCombination, c: LinearCombination, defines?: Variable): void {
    this.#auxBefore.push(this.#totals.aux)
    this.#inputsBefore.push(this.#totals.inputs)
    this.#pushTerms(a)
    this.#pushTerms(b)
    const from = this.#termVariable.length
    const first = this.#termStart[this.#termStart.length - 3] as number
    this.#pushTerms(c)
    if (defines !== undefined) {
      const at = this.#termVariable.indexOf(defines, first)
      // Numbers 0 and 1 of the coefficient table are 1 and −1.
      if (at < from || (this.#termCoefficient[at] as number) > 1 || !this.#undefined.delete(defines)) {
        throw new Error(`row ${this.#totals.rows} can't define variable 0x${defines.toString(16)}`)
      }
    }
    this.#defines.push(defines === undefined ? DEFINES_NOTHING : (defines & NUMBER_MASK) >>> 0)
    this.#totals.rows++
  }

  /**
   * Uses a gadget as a template. The body runs only if this circuit has not yet recorded the name with operands of this
   * form: which of them are the same variable (their terms merge), which bits are negated, which are constants. So the
   * body must depend on nothing but its name and the form.
   * @param poseidon marks a Poseidon permutation, see {@link Template.poseidon}
   * @returns the body's results, as variables of this constraint system
   */
  template(
    name: string,
    operands: Operands,
    body: (cs: ConstraintSystem, operands: Values) => Operands,
    poseidon?: Template['poseidon'],
  ): Values {
    const wires: Variable[] = []
    const wireNumbers = new Map<Variable, number>()
    const form: string[] = []
    const localize = (variable: Variable): Variable => {
      this.#check(variable)
      if (variable === ONE) return ONE
      let number = wireNumbers.get(variable)
      if (number === undefined) {
        number = wires.length
        wires.push(variable)
        wireNumbers.set(variable, number)
      }
      return wireVariable(number)
    }
    const nums = (operands.nums ?? []).map((variable) => {
      const local = localize(variable)
      form.push(local === ONE ? 'one' : String(local))
      return local
    })
    const bits = (operands.bits ?? []).map((bit): Bit => {
      if (bit.kind === 'constant') {
        form.push(bit.value ? 'true' : 'false')
        return bit
      }
      const local = localize(bit.variable)
      form.push(bit.kind === 'not' ? `!${local}` : `?${local}`)
      return { kind: bit.kind, variable: local }
    })

    const { template, results } = this.#registry.recording(name, form.join(' '), (uniqueName) => {
      const child = new ConstraintSystem(this.#registry, wires.length)
      const returned = body(child, { nums, bits })
      return {
        template: child.finish(uniqueName, poseidon),
        results: { nums: returned.nums ?? [], bits: returned.bits ?? [] },
      }
    })

    this.#flush()
    this.#steps.push({ kind: 'child', template, wires: Uint32Array.from(wires) })
    const auxOffset = this.#totals.aux
    const inputOffset = this.#totals.inputs
    const globalize = (variable: Variable): Variable => {
      const number = variable & NUMBER_MASK
      switch ((variable & KIND_MASK) >>> 0) {
        case WIRE:
          return wires[number] as Variable
        case AUX:
          return auxVariable(auxOffset + number)
        case INPUT:
          return inputVariable(inputOffset + number)
        default:
          return ONE
      }
    }
    for (const key of Object.keys(this.#totals) as (keyof TemplateTotals)[]) this.#totals[key] += template.totals[key]
    this.#pendingFirstRow = this.#defines.length
    return {
      nums: results.nums.map(globalize),
      bits: results.bits.map((bit) => (bit.kind === 'constant' ? bit : { ...bit, variable: globalize(bit.variable) })),
    }
  }

  /** @internal */
  finish(name: string, poseidon: Template['poseidon']): Template {
    this.#flush()
    if (this.#undefined.size > 0) throw new Error(`${name}: ${this.#undefined.size} derived variables without a row`)
    const matrix: RowMatrix = {
      rows: this.#defines.length,
      // Templates that differ in a constant share all but their coefficients.
      termStart: this.#registry.share(this.#termStart),
      termVariable: this.#registry.share(this.#termVariable),
      termCoefficient: this.#registry.share(this.#termCoefficient),
      defines: this.#registry.share(this.#defines),
      auxBefore: this.#registry.share(this.#auxBefore),
      inputsBefore: this.#registry.share(this.#inputsBefore),
    }
    return {
      name,
      wires: this.#wires,
      steps: this.#steps,
      matrix,
      totals: { ...this.#totals },
      ...(poseidon !== undefined && { poseidon }),
    }
  }

  #pushTerms(combination: LinearCombination): void {
    const first = this.#termVariable.length
    let last = -1
    let inOrder = true
    for (const [variable, coefficient] of combination.entries()) {
      const number = this.#registry.number(coefficient)
      if (number === ZERO) continue
      this.#check(variable)
      this.#termVariable.push(variable)
      this.#termCoefficient.push(number)
      const place = placeOf(variable)
      inOrder &&= place > last
      last = place
    }
    if (!inOrder) this.#sortTerms(first)
    this.#termStart.push(this.#termVariable.length)
  }

  #sortTerms(first: number): void {
    const terms = this.#termVariable
      .slice(first)
      .map((variable, i) => ({
        variable,
        place: placeOf(variable),
        number: this.#termCoefficient[first + i] as number,
      }))
      .sort((x, y) => x.place - y.place)
    for (const [i, { variable, number }] of terms.entries()) {
      this.#termVariable[first + i] = variable
      this.#termCoefficient[first + i] = number
    }
  }

  /** Catches variables of another template, which a body must take as operands. */
  #check(variable: Variable): void {
    if (variable === ONE) return
    const kind = (variable & KIND_MASK) >>> 0
    const limit = kind === WIRE ? this.#wires : kind === AUX ? this.#totals.aux : this.#totals.inputs
    if ((variable & NUMBER_MASK) >= limit)
      throw new Error(`variable 0x${variable.toString(16)} is not of this template`)
  }

  #flush(): void {
    for (const { class: auxClass, count } of this.#pendingAux) this.#steps.push({ kind: 'aux', class: auxClass, count })
    if (this.#pendingInputs > 0) this.#steps.push({ kind: 'input', count: this.#pendingInputs })
    const first = this.#pendingFirstRow
    const count = this.#defines.length - first
    if (count > 0) this.#steps.push({ kind: 'rows', first, count })
    this.#pendingAux = []
    this.#pendingInputs = 0
    this.#pendingFirstRow = this.#defines.length
  }
}

/** Records a whole circuit; variables of the body's constraint system are the circuit's own. */
export function recordRoot(
  name: string,
  body: (cs: ConstraintSystem) => void,
): { readonly root: Template; readonly coefficients: CoefficientTable } {
  const registry = new Registry()
  const cs = new ConstraintSystem(registry, 0)
  body(cs)
  return { root: cs.finish(name, undefined), coefficients: registry.coefficients }
}
