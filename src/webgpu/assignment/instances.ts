/**
 * A circuit's shape as the row kernels want it: for each template that has rows, bits or wide scalars of its own, one
 * record an instance, in the order in which derived variables become known.
 *
 * A derived variable may depend on others (a Merkle level on the one below). The depth of an instance is one more than
 * the greatest depth behind its wires; instances of equal depth are independent and go into one dispatch.
 *
 * A template may also derive a variable from what some of its children gave and wire it to later ones (a node from a
 * key and data, to the path above it). Its instances are then derived at that variable's depth too: rows that read what
 * is not known yet come out wrong, and right the last time.
 */
import {
  AUX,
  auxVariable,
  type CircuitShape,
  DEFINES_NOTHING,
  INPUT,
  KIND_MASK,
  NUMBER_MASK,
  ONE,
  type Template,
  type Variable,
} from '../../circuit/shape.ts'
import { type OwnParts, ownParts, RECORD_HEAD, templateCounts } from './template-parts.ts'

/**
 * Instances `first` up to `first + count` of a template, all of one depth. Their rows follow each other by rising
 * number.
 */
export interface Batch {
  readonly depth: number
  readonly first: number
  readonly count: number
}

/** The instances of a template that has something of its own. */
export interface TemplateInstances {
  readonly template: Template
  readonly own: OwnParts
  readonly recordWords: number
  /** One record an instance, sorted by depth, then by its place in the circuit. */
  readonly records: Uint32Array
  readonly instances: number
  /** All instances, by rising depth. */
  readonly batches: readonly Batch[]
  /** Those again that have to be derived before, too, for the sake of their children. */
  readonly early: readonly Batch[]
}

/** Where an instance begins. */
interface Bases {
  readonly rows: number
  readonly aux: number
  readonly inputs: number
  readonly bits: number
  readonly wide: number
}

/** @returns the templates in the order in which their first instance ends */
export function shapeInstances(shape: CircuitShape): TemplateInstances[] {
  const walk = new InstanceWalk(shape.root)
  // Inputs of z: ONE, then the root's.
  walk.visit(shape.root, { rows: 0, aux: shape.inputs, inputs: 1, bits: 0, wide: 0 })
  return walk.collected()
}

/** Records of a template in the order of the walk. */
class Records {
  readonly template: Template
  readonly own: OwnParts
  readonly #words: Uint32Array
  readonly #depths: Uint16Array
  /** Depths at which instances of a depth are derived before. */
  readonly #early = new Map<number, Set<number>>()
  #count = 0
  #deepest = 0

  constructor(template: Template, count: number) {
    this.template = template
    this.own = ownParts(template)
    const kept = this.own.present ? count : 0
    this.#words = new Uint32Array(kept * (RECORD_HEAD + template.wires))
    this.#depths = new Uint16Array(kept)
  }

  get count(): number {
    return this.#count
  }

  /** @param early depths of own variables that children read */
  add(
    { rows, aux, inputs, bits, wide }: Bases,
    wires: Uint32Array,
    wiresAt: number,
    depth: number,
    early: ReadonlySet<number>,
  ): void {
    const { wires: wireCount } = this.template
    const at = this.#count * (RECORD_HEAD + wireCount)
    const words = this.#words
    words[at] = rows
    words[at + 1] = aux
    words[at + 2] = inputs
    words[at + 3] = bits
    words[at + 4] = wide
    for (let i = 0; i < wireCount; i++) words[at + RECORD_HEAD + i] = wires[wiresAt + i] as number
    this.#depths[this.#count++] = depth
    this.#deepest = Math.max(this.#deepest, depth)
    for (const before of early) {
      if (before >= depth) continue
      const known = this.#early.get(depth)
      if (known === undefined) this.#early.set(depth, new Set([before]))
      else known.add(before)
    }
  }

  /** By depth, with a counting sort that keeps the order within one. */
  sorted(): TemplateInstances {
    const { template, own } = this
    const recordWords = RECORD_HEAD + template.wires
    const instances = this.#count
    const starts = new Uint32Array(this.#deepest + 2)
    for (const depth of this.#depths) starts[depth + 1] = (starts[depth + 1] as number) + 1
    for (let depth = 0; depth <= this.#deepest; depth++)
      starts[depth + 1] = (starts[depth + 1] as number) + (starts[depth] as number)
    const batches: Batch[] = []
    for (let depth = 0; depth <= this.#deepest; depth++) {
      const [first, end] = [starts[depth] as number, starts[depth + 1] as number]
      if (end > first) batches.push({ depth, first, count: end - first })
    }
    let records = this.#words
    if (batches.length > 1) {
      records = new Uint32Array(this.#words.length)
      const next = starts.slice()
      for (let i = 0; i < instances; i++) {
        const depth = this.#depths[i] as number
        const to = next[depth] as number
        next[depth] = to + 1
        const from = i * recordWords
        for (let k = 0; k < recordWords; k++) records[to * recordWords + k] = this.#words[from + k] as number
      }
    }
    const early = batches.flatMap((batch) =>
      [...(this.#early.get(batch.depth) ?? [])].map((depth) => ({ ...batch, depth })),
    )
    return { template, own, recordWords, records, instances, batches, early }
  }
}

/** A stack of numbers that several recursions share. */
class Stack {
  words: Int32Array = new Int32Array(1024)
  top = 0

  push(value: number): void {
    if (this.top === this.words.length) {
      const grown = new Int32Array(2 * this.words.length)
      grown.set(this.words)
      this.words = grown
    }
    this.words[this.top++] = value
  }
}

/**
 * An instance whose children are being visited: where it begins, and where its wires and children are on the stacks.
 */
interface OpenInstance {
  readonly template: Template
  readonly bases: Bases
  readonly wiresAt: number
  readonly firstChild: number
}

const definitionsOf = new WeakMap<Template, ReadonlyMap<number, readonly Variable[]>>()

/** What each own derived variable of a template is derived from. */
function definitions(template: Template): ReadonlyMap<number, readonly Variable[]> {
  const known = definitionsOf.get(template)
  if (known !== undefined) return known
  const { rows, defines, termStart, termVariable } = template.matrix
  const found = new Map<number, readonly Variable[]>()
  for (let row = 0; row < rows; row++) {
    const defined = defines[row] as number
    if (defined === DEFINES_NOTHING) continue
    const terms = termVariable.subarray(termStart[3 * row] as number, termStart[3 * row + 3] as number)
    found.set(
      defined,
      Array.from(terms).filter((variable) => variable !== auxVariable(defined)),
    )
  }
  definitionsOf.set(template, found)
  return found
}

class InstanceWalk {
  readonly #records = new Map<Template, Records>()
  readonly #ended: Records[] = []
  /**
   * Wires of the instances that are open, as places in z, and the depth of each one's value; sent values have depth −1.
   */
  #wires = new Uint32Array(1024)
  #wireDepths = new Int32Array(1024)
  #wiresTop = 0
  /** Aux ranges of the children so far of the instances that are open, to find the depth of what a later one reads. */
  readonly #starts = new Stack()
  readonly #ends = new Stack()
  readonly #depths = new Stack()

  constructor(root: Template) {
    for (const [template, count] of templateCounts(root)) this.#records.set(template, new Records(template, count))
  }

  collected(): TemplateInstances[] {
    return this.#ended.map((records) => records.sorted())
  }

  /**
   * Records an instance and those inside it. Its wires are the last ones on the stack.
   * @returns the greatest depth of a value in the instance
   */
  visit(template: Template, bases: Bases): number {
    const records = this.#records.get(template) as Records
    const wiresAt = this.#wiresTop - template.wires
    const firstChild = this.#starts.top
    const early = new Set<number>()
    let deepest = -1
    let { rows, aux, inputs, bits, wide } = bases
    for (const step of template.steps) {
      if (step.kind === 'rows') rows += step.count
      else if (step.kind === 'input') inputs += step.count
      else if (step.kind === 'aux') {
        aux += step.count
        if (step.class === 'bit') bits += step.count
        else if (step.class === 'wide') wide += step.count
      } else {
        const { totals } = step.template
        const top = this.#wiresTop
        this.#reserveWires(step.wires.length)
        for (const variable of step.wires) this.#pushWire(variable, { template, bases, wiresAt, firstChild }, early)
        const depth = this.visit(step.template, { rows, aux, inputs, bits, wide })
        this.#wiresTop = top
        this.#starts.push(aux)
        this.#ends.push(aux + totals.aux)
        this.#depths.push(depth)
        deepest = Math.max(deepest, depth)
        rows += totals.rows
        aux += totals.aux
        inputs += totals.inputs
        bits += totals.bits
        wide += totals.wide
      }
    }
    for (const stack of [this.#starts, this.#ends, this.#depths]) stack.top = firstChild
    const { present, derives } = records.own
    if (!present) return deepest
    let depth = 0
    if (derives) {
      // Own derived variables that read a child's come after it; those of a leaf, after its wires.
      depth = deepest
      for (let i = 0; i < template.wires; i++) depth = Math.max(depth, this.#wireDepths[wiresAt + i] as number)
      depth++
      deepest = depth
    }
    if (records.count === 0) this.#ended.push(records)
    records.add(bases, this.#wires, wiresAt, depth, early)
    return deepest
  }

  #reserveWires(count: number): void {
    if (this.#wiresTop + count <= this.#wires.length) return
    const [wires, depths] = [this.#wires, this.#wireDepths]
    this.#wires = new Uint32Array(2 * (this.#wiresTop + count))
    this.#wireDepths = new Int32Array(this.#wires.length)
    this.#wires.set(wires)
    this.#wireDepths.set(depths)
  }

  /** Resolves a variable of an open instance; notes in `early` the depth of one that the instance derives itself. */
  #pushWire(variable: Variable, open: OpenInstance, early: Set<number>): void {
    const { template, bases, wiresAt } = open
    const number = variable & NUMBER_MASK
    const kind = (variable & KIND_MASK) >>> 0
    const place =
      kind === AUX
        ? bases.aux + number
        : kind === INPUT
          ? bases.inputs + number
          : variable === ONE
            ? 0
            : (this.#wires[wiresAt + number] as number)
    const depth = this.#depthOf(variable, open)
    if (kind === AUX && definitions(template).has(number)) early.add(depth)
    this.#wires[this.#wiresTop] = place
    this.#wireDepths[this.#wiresTop++] = depth
  }

  /**
   * Depth of a variable's value in an open instance, whose children so far include all that it depends on; −1 if it is
   * sent.
   */
  #depthOf(variable: Variable, open: OpenInstance): number {
    const number = variable & NUMBER_MASK
    const kind = (variable & KIND_MASK) >>> 0
    if (kind === INPUT || variable === ONE) return -1
    if (kind !== AUX) return this.#wireDepths[open.wiresAt + number] as number
    const reads = definitions(open.template).get(number)
    if (reads === undefined) return this.#depthAt(open.bases.aux + number, open.firstChild)
    // Own variables are derived in the order of their rows, so that one may read another at the same depth.
    return reads.reduce((depth, read) => {
      const own = (read & KIND_MASK) >>> 0 === AUX && definitions(open.template).has(read & NUMBER_MASK)
      return Math.max(depth, this.#depthOf(read, open) + (own ? 0 : 1))
    }, 0)
  }

  /** Depth of the child that an aux variable lies in; −1 between children. */
  #depthAt(place: number, firstChild: number): number {
    const starts = this.#starts.words
    let [low, high] = [firstChild, this.#starts.top]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((starts[middle] as number) <= place) low = middle + 1
      else high = middle
    }
    const child = low - 1
    return child >= firstChild && place < (this.#ends.words[child] as number)
      ? (this.#depths.words[child] as number)
      : -1
  }
}
