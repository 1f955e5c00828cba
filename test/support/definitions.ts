/** Checks of what a device relies on when it fills in an assignment. */
import { AUX, DEFINES_NOTHING, KIND_MASK, NUMBER_MASK, type Template, type Variable } from '../../src/circuit/shape.ts'

/**
 * Finds a variable that is read before it is known: by a row that defines another one, or as a wire. Works template by
 * template, so it is quick for circuits of any size. Between two children, variables are filled in before rows are
 * evaluated.
 * @returns where, or undefined if all is in order
 */
export function earlyRead(root: Template): string | undefined {
  const visited = new Set<Template>()
  const visit = (template: Template): string | undefined => {
    if (visited.has(template)) return undefined
    visited.add(template)
    for (const step of template.steps) {
      if (step.kind !== 'child') continue
      const found = visit(step.template)
      if (found !== undefined) return found
    }
    return earlyReadIn(template)
  }
  return visit(root)
}

function earlyReadIn({ name, steps, matrix, totals }: Template): string | undefined {
  const known = new Uint8Array(totals.aux)
  const isKnown = (variable: Variable): boolean =>
    (variable & KIND_MASK) >>> 0 !== AUX || known[variable & NUMBER_MASK] === 1
  let aux = 0
  for (let from = 0; from < steps.length; ) {
    let to = steps.findIndex(({ kind }, i) => i >= from && kind === 'child')
    if (to < 0) to = steps.length
    const segment = steps.slice(from, to)
    for (const step of segment) {
      if (step.kind !== 'aux') continue
      if (step.class !== 'derived') known.fill(1, aux, aux + step.count)
      aux += step.count
    }
    for (const step of segment) {
      if (step.kind !== 'rows') continue
      for (let row = step.first; row < step.first + step.count; row++) {
        const defines = matrix.defines[row] as number
        if (defines === DEFINES_NOTHING) continue
        known[defines] = 1
        const terms = matrix.termVariable.subarray(matrix.termStart[3 * row], matrix.termStart[3 * row + 3])
        if (!terms.every(isKnown)) return `${name}: row ${row}`
      }
    }
    const child = steps[to]
    if (child?.kind === 'child') {
      if (!child.wires.every(isKnown)) return `${name}: wires of ${child.template.name}`
      known.fill(1, aux, aux + child.template.totals.aux)
      aux += child.template.totals.aux
    }
    from = to + 1
  }
  return known.includes(0) ? `${name}: a variable stays unknown` : undefined
}

/** Bytes of a shape's arrays, shared ones counted once. */
export function arrayBytes(root: Template): number {
  const buffers = new Set<ArrayBufferLike>()
  const visited = new Set<Template>()
  const visit = (template: Template): void => {
    if (visited.has(template)) return
    visited.add(template)
    for (const array of Object.values(template.matrix)) if (ArrayBuffer.isView(array)) buffers.add(array.buffer)
    for (const step of template.steps) {
      if (step.kind !== 'child') continue
      buffers.add(step.wires.buffer)
      visit(step.template)
    }
  }
  visit(root)
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
}
