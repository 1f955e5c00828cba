/** The small JSON file beside development parameters that says what they are, and of which circuit. */
import { createHash } from 'node:crypto'
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { CircuitShape, Template } from '../circuit/shape.ts'
import { SrsUnavailableError } from '../errors.ts'
import { frToBytes } from '../field/fr.ts'

const FORMAT = 'wgzk development parameters'

export interface DevelopmentMarker {
  readonly format: typeof FORMAT
  readonly warning: string
  readonly circuit_id: CircuitId
  /** {@link shapeFingerprint} of the circuit that the parameters fit. */
  readonly circuit_fingerprint: string
  readonly params_bytes: number
  /** First 16 bytes of BLAKE2b-512, in hex. */
  readonly params_digest: string
  readonly vk_digest: string
  /** ISO 8601. */
  readonly created: string
}

/** The marker of a set-up that has just ended. */
export function makeMarker(marker: Omit<DevelopmentMarker, 'format' | 'warning'>): DevelopmentMarker {
  return {
    format: FORMAT,
    warning: 'whoever made these parameters can forge proofs: for tests and trials only',
    ...marker,
  }
}

/** @throws {SrsUnavailableError} the text is no marker, or one of another circuit */
export function parseMarker(text: string, file: string, circuitId: CircuitId): DevelopmentMarker {
  const fail = (expected: string, received: string): SrsUnavailableError =>
    new SrsUnavailableError(`${file}: not the marker of development parameters of ${circuitId}`, {
      details: { file, expected, received },
    })
  let marker: Partial<DevelopmentMarker> | null
  try {
    marker = JSON.parse(text)
  } catch {
    throw fail('JSON', `${text.length} characters of something else`)
  }
  if (typeof marker !== 'object' || marker === null || marker.format !== FORMAT) {
    throw fail(`format "${FORMAT}"`, `format ${JSON.stringify(marker?.format)}`)
  }
  if (marker.circuit_id !== circuitId) throw fail(circuitId, String(marker.circuit_id))
  const digests: (keyof DevelopmentMarker)[] = ['params_digest', 'vk_digest']
  for (const key of digests) {
    if (!/^[0-9a-f]{32}$/.test(String(marker[key])))
      throw fail(`${key}: 32 hexadecimal digits`, `${key}: ${marker[key]}`)
  }
  if (!/^[0-9a-f]{64}$/.test(String(marker.circuit_fingerprint))) {
    throw fail('circuit_fingerprint: 64 hexadecimal digits', `circuit_fingerprint: ${marker.circuit_fingerprint}`)
  }
  return marker as DevelopmentMarker
}

/**
 * SHA-256 over the templates and coefficients of a shape. Equal fingerprints mean equal constraints, variable by
 * variable, and it takes milliseconds for a circuit of any size, where hashing all constraints takes minutes. The
 * converse does not hold: the same constraints cut into other templates have another fingerprint.
 */
export function shapeFingerprint(shape: CircuitShape): string {
  const hash = createHash('sha256')
  const numbers = new Map<Template, number>()
  const uint32 = (...values: number[]): void => void hash.update(Uint32Array.from(values))
  const visit = (template: Template): number => {
    const known = numbers.get(template)
    if (known !== undefined) return known
    // Nested templates first, so that each is named by a number already fixed.
    const children = template.steps.map((step) => (step.kind === 'child' ? visit(step.template) : 0))
    const { matrix } = template
    uint32(template.wires, template.steps.length, matrix.rows)
    for (const array of [matrix.termStart, matrix.termVariable, matrix.termCoefficient]) {
      uint32(array.length)
      hash.update(array)
    }
    for (const [i, step] of template.steps.entries()) {
      switch (step.kind) {
        case 'aux':
          uint32(0, step.count)
          break
        case 'input':
          uint32(1, step.count)
          break
        case 'rows':
          uint32(2, step.first, step.count)
          break
        case 'child':
          uint32(3, children[i] as number, step.wires.length, ...step.wires)
      }
    }
    numbers.set(template, numbers.size)
    return numbers.size - 1
  }
  visit(shape.root)
  for (const coefficient of shape.coefficients) hash.update(frToBytes(coefficient))
  return hash.digest('hex')
}
