/** Inclusion proofs of seals and updates: the record form of `MerkleProof` in storage-proofs-core. */
import {
  listLayout,
  offsetOf,
  type RecordLayout,
  scalarLayout,
  structLayout,
  u64Layout,
  variantLayout,
} from './records.ts'

/** Where one level of a path lies, from the start of its inclusion proof. */
export interface MerkleLevel {
  readonly arity: number
  /** Binary digits of the index: log2(arity). */
  readonly bits: number
  /** arity − 1 scalars. */
  readonly siblings: number
  readonly index: number
  /** Path of the level, for errors. */
  readonly field: string
}

/** An inclusion proof: its record and where the parts of it lie. */
export interface MerkleLayout {
  readonly record: RecordLayout
  readonly root: number
  readonly leaf: number
  /** From the leaf upwards. */
  readonly levels: readonly MerkleLevel[]
}

const VARIANTS = ['Single', 'Sub', 'Top'] as const
const UPPER_PATHS = ['sub_proof', 'top_proof'] as const

/**
 * @param arities of each level from the leaf upwards
 * @param upperLevels how many of them, the last ones, lie above the base tree: each has a path of its own
 */
export function merkleLayout(arities: readonly number[], upperLevels: 0 | 1 | 2): MerkleLayout {
  const element = (arity: number): RecordLayout =>
    structLayout({ hashes: listLayout(scalarLayout, arity - 1), index: u64Layout })
  const path = (of: readonly number[]): RecordLayout =>
    structLayout({ path: listLayout(element(of[0] as number), of.length) })
  const base = arities.slice(0, arities.length - upperLevels)
  if (base.some((arity) => arity !== base[0])) throw new RangeError('levels of a base tree of several arities')
  const variant = VARIANTS[upperLevels]
  const commitments = { root: scalarLayout, leaf: scalarLayout }
  const content =
    upperLevels === 0
      ? structLayout({ ...commitments, path: path(base) })
      : structLayout({
          base_proof: path(base),
          ...Object.fromEntries(
            arities.slice(base.length).map((arity, i) => [UPPER_PATHS[i] as string, path([arity])]),
          ),
          ...commitments,
        })
  const record = structLayout({ data: variantLayout(variant, upperLevels, content) })
  const at = (...steps: (string | number)[]): number => offsetOf(record, 'data', variant, ...steps)
  const levels = arities.map((arity, i): MerkleLevel => {
    const upper = i - base.length
    const name = upperLevels === 0 ? 'path' : upper < 0 ? 'base_proof' : (UPPER_PATHS[upper] as string)
    const number = upper < 0 ? i : 0
    return {
      arity,
      bits: Math.log2(arity),
      siblings: at(name, 'path', number, 'hashes', 0),
      index: at(name, 'path', number, 'index'),
      field: `data.${variant}.${name}.path[${number}]`,
    }
  })
  return { record, root: at('root'), leaf: at('leaf'), levels }
}
