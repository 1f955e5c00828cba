/** Device memory of a circuit's shape and of each of its partitions, before anything is allocated. */
import type { CircuitShape } from '../../circuit/shape.ts'
import { poseidonTableScalars } from '../../cpu/circuit-machine/poseidon-table.ts'
import { allocationBytes } from '../allocation.ts'
import { ELEMENT_BYTES, elementsBytes } from '../elements.ts'
import { splitBits } from '../ntt/powers.ts'
import { planTransform } from '../ntt/transform.ts'
import { densityBytes } from './dense-values.ts'
import { ownParts, tableLayout, templateCounts } from './template-parts.ts'

/** Parameters of the two units that are in flight. */
export const UNIT_BYTES = 65_536

/** Bytes of buffers as they are allocated; points of the parameters and what their sums need come on top. */
export interface AssignmentBytes {
  /** Held while the circuit is loaded: templates, densities, tables of the domain. Shared by all partitions. */
  readonly shape: number
  /** Of one partition while its rows are evaluated: the compact witness, z, a and b. */
  readonly assign: number
  /** Of one partition in its quotient: the compact witness, a, b and c; z too where the memory allows. */
  readonly quotient: number
  readonly quotientWithValues: number
  /** Of one partition while its sums are computed: the compact witness, z and h. */
  readonly sums: number
}

/** What the memory of a partition follows from. */
export interface PartitionSize extends Pick<CircuitShape, 'inputs' | 'aux' | 'log2Domain'> {
  /** Aux variables that travel as one bit each. */
  readonly bits: number
  /** Aux variables that travel as 32 bytes each. */
  readonly wide: number
}

/** @param bindingBytes largest range of a buffer that a kernel may be given */
export function assignmentBytes(shape: CircuitShape, bindingBytes: number): AssignmentBytes {
  const { inputs, aux, log2Domain, root } = shape
  const { bits, wide } = root.totals
  return {
    shape: templateBytes(shape) + 2 * densityTableBytes(aux) + domainBytes(log2Domain),
    ...partitionBytes({ inputs, aux, log2Domain, bits, wide }, bindingBytes),
  }
}

/** As {@link assignmentBytes}, before there is a shape. */
export function partitionBytes(
  { inputs, aux, log2Domain, bits, wide }: PartitionSize,
  bindingBytes: number,
): Omit<AssignmentBytes, 'shape'> {
  const least = (bytes: number): number => allocationBytes(Math.max(ELEMENT_BYTES, bytes))
  const witness =
    least(inputs * ELEMENT_BYTES) + least(8 * Math.ceil(bits / 64)) + least(wide * ELEMENT_BYTES) + UNIT_BYTES
  const values = elementsBytes({ bindingBytes }, inputs + aux)
  const polynomial = elementsBytes({ bindingBytes }, 2 ** log2Domain)
  return {
    // With the number of a row that does not hold.
    assign: witness + values + 2 * polynomial + least(Uint32Array.BYTES_PER_ELEMENT),
    quotient: witness + 3 * polynomial,
    quotientWithValues: witness + values + 3 * polynomial,
    sums: witness + values + polynomial,
  }
}

function templateBytes({ root, coefficients }: CircuitShape): number {
  let bytes = allocationBytes(coefficients.length * ELEMENT_BYTES)
  for (const [template, instances] of templateCounts(root)) {
    if (!ownParts(template).present) continue
    bytes += allocationBytes(4 * tableLayout(template, instances).words)
    const { poseidon } = template
    if (poseidon === undefined) continue
    const constants = poseidonTableScalars(poseidon.arity, poseidon.domainTag).length
    bytes += allocationBytes(constants * ELEMENT_BYTES)
  }
  return bytes
}

const densityTableBytes = (aux: number): number =>
  densityBytes(aux).reduce((sum, bytes) => sum + allocationBytes(bytes), 0)

/** Tables of a domain: roots, powers of g and of 1/g, one constant. */
export function domainBytes(log2: number): number {
  const table = (count: number): number => allocationBytes(count * ELEMENT_BYTES)
  const { rootsLog2 } = planTransform(log2)
  const roots = table(2 ** rootsLog2) + table(2 ** (log2 - rootsLog2))
  const low = splitBits(log2)
  return roots + 2 * (table(2 ** low) + table(2 ** (log2 - low))) + table(1)
}

/** A polynomial of so many bytes makes z give way unless that was counted. */
const LARGE_BYTES = 2 ** 30

/**
 * Whether z makes room for the quotient's third polynomial: where it would not fit beside, and, unless z was counted
 * with it, where it is so large that to make it anew is a hundredth of the work. What is free then may be meant for
 * another partition, which was counted as this one is, without z.
 */
export const givesWay = (
  polynomialBytes: number,
  counted: boolean,
  { usedBytes, plannedBytes }: { readonly usedBytes: number; readonly plannedBytes: number },
): boolean => (!counted && polynomialBytes >= LARGE_BYTES) || usedBytes + polynomialBytes + UNIT_BYTES > plannedBytes
