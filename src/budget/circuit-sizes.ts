/**
 * Sizes of the circuits that can be proved, for decisions that must be made before a shape is built (building one takes
 * up to 0.2 s). A test compares them with the shapes.
 */
import type { CircuitId } from '../circuit/circuit-id.ts'
import type { CircuitShape } from '../circuit/shape.ts'

/**
 * What the layout of the parameters follows from, and what travels of a witness. The density has no bits here, only
 * counts.
 */
export interface CircuitSize extends Pick<CircuitShape, 'constraints' | 'inputs' | 'aux' | 'log2Domain' | 'density'> {
  /** Aux variables that travel as one bit each. */
  readonly bits: number
  /** Aux variables that travel as 32 bytes each. */
  readonly wide: number
}

type Row = readonly [
  constraints: number,
  inputs: number,
  aux: number,
  bits: number,
  wide: number,
  aAux: number,
  bAux: number,
]

const ROWS: Readonly<Partial<Record<CircuitId, Row>>> = {
  'wpost-2k': [21_866, 23, 22_128, 120, 306, 16_770, 16_028],
  'wpost-8m': [64_266, 23, 65_088, 360, 866, 49_330, 47_148],
  'wpost-512m': [85_466, 23, 86_568, 480, 1_146, 65_610, 62_708],
  'wpost-32g': [125_279_217, 25_840, 126_902_376, 704_700, 1_674_837, 96_179_805, 91_925_766],
  'wpost-64g': [129_887_900, 25_301, 131_500_200, 713_000, 1_662_900, 99_624_500, 95_413_200],
  'winning-2k': [90_750, 133, 91_674, 396, 1_188, 69_300, 66_792],
  'winning-8m': [230_670, 133, 233_442, 1_188, 3_036, 176_748, 169_488],
  'winning-512m': [300_630, 133, 304_326, 1_584, 3_960, 230_472, 220_836],
  'winning-32g': [370_590, 133, 375_210, 1_980, 4_884, 284_196, 272_184],
  'winning-64g': [391_314, 133, 396_000, 2_046, 4_950, 299_838, 287_694],
  'porep-2k': [2_687_921, 40, 2_685_673, 2_641_739, 523, 2_674_908, 685_521],
  'porep-8m': [3_844_929, 40, 3_842_449, 3_730_067, 1_443, 3_814_996, 1_011_289],
  'porep-512m': [4_423_433, 40, 4_420_837, 4_274_231, 1_903, 4_385_040, 1_174_173],
  'porep-32g': [130_278_541, 328, 130_169_893, 128_465_031, 23_495, 129_753_292, 33_112_281],
  'porep-64g': [131_185_849, 328, 131_076_643, 129_281_277, 23_801, 130_637_542, 33_386_943],
  'snap-2k': [1_705_039, 5, 1_703_569, 1_677_471, 344, 1_697_189, 444_403],
  'snap-8m': [10_007_503, 5, 9_998_039, 9_927_533, 1_086, 9_981_015, 2_567_921],
  'snap-512m': [57_450_479, 5, 57_401_314, 56_619_220, 11_060, 57_212_317, 14_916_879],
  'snap-32g': [81_049_499, 5, 80_978_488, 80_010_010, 13_984, 80_743_581, 20_983_607],
  'snap-64g': [85_006_101, 5, 84_931_220, 83_908_390, 14_242, 84_682_725, 22_012_683],
}

/** What can't be proved for want of this one's memory leaves no room for any other. */
export const SMALLEST_CIRCUIT: CircuitId = 'wpost-2k'

/** A circuit's size; absent if this version has no such circuit. */
export function circuitSize(circuitId: CircuitId): CircuitSize | undefined {
  const row = Object.hasOwn(ROWS, circuitId) ? ROWS[circuitId] : undefined
  if (row === undefined) return undefined
  const [constraints, inputs, aux, bits, wide, aAux, bAux] = row
  const log2Domain = Math.ceil(Math.log2(constraints + inputs))
  const none = new Uint8Array()
  const density = { aAux: none, aAuxCount: aAux, bAux: none, bAuxCount: bAux }
  return { constraints, inputs, aux, bits, wide, log2Domain, density }
}
