/** From the name of a circuit to its shape. */
import { type CircuitId, parseCircuitId } from './circuit-id.ts'
import { type ConstraintSystem, recordRoot } from './constraint-system.ts'
import { circuitDensity } from './density.ts'
import { porepParameters, synthesizePorep } from './porep/porep-circuit.ts'
import { postParameters, synthesizePost } from './post/post-circuit.ts'
import type { CircuitShape } from './shape.ts'
import { synthesizeSnap } from './snap/snap-circuit.ts'
import { snapParameters } from './snap/snap-parameters.ts'

/**
 * Records a circuit: a fraction of a second for every size. Shapes are not kept here; whoever needs one often should
 * share it.
 */
export function circuitShape(circuitId: CircuitId): CircuitShape {
  const { family, size } = parseCircuitId(circuitId)
  switch (family) {
    case 'wpost':
    case 'winning':
      return recordCircuit(circuitId, (cs) => synthesizePost(cs, postParameters(family, size)))
    case 'porep':
      return recordCircuit(circuitId, (cs) => synthesizePorep(cs, porepParameters(size)))
    case 'snap':
      return recordCircuit(circuitId, (cs) => synthesizeSnap(cs, snapParameters(size)))
  }
}

/** The shape of any circuit that a function synthesizes. */
export function recordCircuit(circuitId: CircuitId, synthesize: (cs: ConstraintSystem) => void): CircuitShape {
  const { root, coefficients } = recordRoot(circuitId, synthesize)
  const { aux, rows } = root.totals
  const inputs = 1 + root.totals.inputs
  return {
    circuitId,
    root,
    coefficients,
    inputs,
    aux,
    constraints: rows,
    log2Domain: Math.ceil(Math.log2(rows + inputs)),
    density: circuitDensity(root),
  }
}
