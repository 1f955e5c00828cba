/**
 * Walks a circuit row by row, with the circuit's own variables: the reference for the engines that walk templates by
 * themselves. Good for circuits of up to some millions of rows.
 */
import {
  AUX,
  type AuxClass,
  type CircuitShape,
  INPUT,
  KIND_MASK,
  NUMBER_MASK,
  type RowMatrix,
  type Template,
  type Variable,
  WIRE,
} from './shape.ts'

/**
 * A linear combination in a buffer that is used again for the next row. Inputs come first, then aux, each by rising
 * number.
 */
export interface Terms {
  readonly count: number
  /** Variables of the circuit: `inputVariable(i)`, where ONE is input 0, and `auxVariable(i)`. */
  readonly variables: Uint32Array
  /** Numbers in the circuit's coefficient table. */
  readonly coefficients: Uint32Array
}

export interface Row {
  /** Number of the row in the circuit. */
  readonly index: number
  readonly a: Terms
  readonly b: Terms
  readonly c: Terms
  /** Number of the aux variable that the row defines, or −1. */
  readonly defines: number
  /** Variables allocated so far, ONE included among the inputs. */
  readonly inputsBefore: number
  readonly auxBefore: number
  readonly template: Template
  /** Number of the row in its template's matrix. */
  readonly templateRow: number
}

class TermBuffer implements Terms {
  count = 0
  variables = new Uint32Array(64)
  coefficients = new Uint32Array(64)

  reserve(count: number): void {
    if (count <= this.variables.length) return
    this.variables = new Uint32Array(2 * count)
    this.coefficients = new Uint32Array(2 * count)
  }

  /** Inserts in order; terms come nearly sorted, so this is almost always an append. */
  insert(variable: Variable, coefficient: number): void {
    let at = this.count++
    // Inputs have the kind 10 and aux 01; flipping both bits makes them compare the other way round.
    const key = (variable ^ KIND_MASK) >>> 0
    for (; at > 0 && ((this.variables[at - 1] as number) ^ KIND_MASK) >>> 0 > key; at--) {
      this.variables[at] = this.variables[at - 1] as number
      this.coefficients[at] = this.coefficients[at - 1] as number
    }
    this.variables[at] = variable
    this.coefficients[at] = coefficient
  }
}

class RowBuffer implements Row {
  index = 0
  readonly a: TermBuffer = new TermBuffer()
  readonly b: TermBuffer = new TermBuffer()
  readonly c: TermBuffer = new TermBuffer()
  defines = -1
  inputsBefore = 0
  auxBefore = 0
  template: Template
  templateRow = 0

  constructor(template: Template) {
    this.template = template
  }
}

/**
 * Calls `visit` for every row, in order. The rows appended for inputs are not among them.
 * @param visit gets the same object each time, with new content
 */
export function walkRows(shape: Pick<CircuitShape, 'root'>, visit: (row: Row) => void): void {
  const row = new RowBuffer(shape.root)
  const walk = (template: Template, wires: Uint32Array, firstAux: number, firstInput: number): void => {
    const { matrix } = template
    let aux = firstAux
    let inputs = firstInput
    const resolve = (variable: Variable): Variable => {
      const number = variable & NUMBER_MASK
      switch ((variable & KIND_MASK) >>> 0) {
        case WIRE:
          return wires[number] as Variable
        case AUX:
          return (AUX | (firstAux + number)) >>> 0
        case INPUT:
          return (INPUT | (firstInput + number)) >>> 0
        default:
          return INPUT
      }
    }
    for (const step of template.steps) {
      switch (step.kind) {
        case 'aux':
          aux += step.count
          break
        case 'input':
          inputs += step.count
          break
        case 'child': {
          const { totals } = step.template
          walk(step.template, step.wires.map(resolve), aux, inputs)
          aux += totals.aux
          inputs += totals.inputs
          break
        }
        case 'rows':
          row.template = template
          for (let r = step.first; r < step.first + step.count; r++) {
            row.templateRow = r
            fill(row.a, matrix, 3 * r, resolve)
            fill(row.b, matrix, 3 * r + 1, resolve)
            fill(row.c, matrix, 3 * r + 2, resolve)
            row.defines = definedBy(matrix, r, firstAux)
            row.auxBefore = firstAux + (matrix.auxBefore[r] as number)
            row.inputsBefore = firstInput + (matrix.inputsBefore[r] as number)
            visit(row)
            row.index++
          }
      }
    }
  }
  walk(shape.root, new Uint32Array(), 0, 1)
}

function definedBy(matrix: RowMatrix, row: number, firstAux: number): number {
  const local = matrix.defines[row] as number
  return local > NUMBER_MASK ? -1 : firstAux + local
}

function fill(buffer: TermBuffer, matrix: RowMatrix, combination: number, resolve: (v: Variable) => Variable): void {
  const from = matrix.termStart[combination] as number
  const to = matrix.termStart[combination + 1] as number
  buffer.reserve(to - from)
  buffer.count = 0
  for (let term = from; term < to; term++) {
    buffer.insert(resolve(matrix.termVariable[term] as number), matrix.termCoefficient[term] as number)
  }
}

/** Calls `visit` for each run of aux variables of one class, in order of allocation. */
export function walkAux(
  shape: Pick<CircuitShape, 'root'>,
  visit: (auxClass: AuxClass, first: number, count: number) => void,
): void {
  let aux = 0
  const walk = (template: Template): void => {
    for (const step of template.steps) {
      if (step.kind === 'child') walk(step.template)
      if (step.kind !== 'aux') continue
      visit(step.class, aux, step.count)
      aux += step.count
    }
  }
  walk(shape.root)
}

/** Where a row of the circuit comes from, and what is allocated when it is enforced. */
export interface RowPlace {
  readonly template: Template
  /** Number of the row in its template's matrix. */
  readonly templateRow: number
  /** Templates from the root down to the row's own, each with its number among the children of the one before. */
  readonly path: readonly { readonly template: Template; readonly child: number }[]
  /** Allocated so far, ONE included among the inputs. */
  readonly inputs: number
  readonly aux: number
}

/**
 * Finds a row by its number in the circuit, without a walk.
 * @throws {RangeError} the circuit has fewer rows
 */
export function locateRow(shape: Pick<CircuitShape, 'root'>, row: number): RowPlace {
  if (row < 0 || row >= shape.root.totals.rows) throw new RangeError(`no row ${row} among ${shape.root.totals.rows}`)
  const path: { template: Template; child: number }[] = []
  let template = shape.root
  let rest = row
  let aux = 0
  let inputs = 1
  for (let descended = true; descended; ) {
    descended = false
    let stepAux = 0
    let stepInputs = 0
    let child = 0
    for (const step of template.steps) {
      if (step.kind === 'aux') stepAux += step.count
      else if (step.kind === 'input') stepInputs += step.count
      else if (step.kind === 'rows') {
        if (rest < step.count) {
          const templateRow = step.first + rest
          return {
            template,
            templateRow,
            path,
            inputs: inputs + (template.matrix.inputsBefore[templateRow] as number),
            aux: aux + (template.matrix.auxBefore[templateRow] as number),
          }
        }
        rest -= step.count
      } else {
        const { totals } = step.template
        if (rest < totals.rows) {
          path.push({ template: step.template, child })
          template = step.template
          aux += stepAux
          inputs += stepInputs
          descended = true
          break
        }
        rest -= totals.rows
        stepAux += totals.aux
        stepInputs += totals.inputs
        child++
      }
    }
  }
  throw new Error(`${shape.root.name}: totals disagree with steps`)
}
