/** Names of circuits and sector sizes: pure data that every step of the flow shares. */

/** The four proofs a storage provider makes. */
export type ProofKind = 'porep-c2' | 'snap-update' | 'window-post' | 'winning-post'

/** A sector size as circuit ids name it. */
export type SectorSizeTag = '2k' | '8m' | '512m' | '32g' | '64g'

/** What a circuit proves, as circuit ids name it: one for each {@link ProofKind}. */
export type CircuitFamily = 'porep' | 'snap' | 'wpost' | 'winning'

/** Names one circuit, and so one `.params` file: `porep-32g`, `wpost-32g`, … */
export type CircuitId = `${CircuitFamily}-${SectorSizeTag}`

/** All of them, in the order of lists. */
export const CIRCUIT_FAMILIES: readonly CircuitFamily[] = ['porep', 'snap', 'wpost', 'winning']

/** All of them, ascending. */
export const SECTOR_SIZE_TAGS: readonly SectorSizeTag[] = ['2k', '8m', '512m', '32g', '64g']

/** Sector sizes in bytes. */
export const SECTOR_SIZE_BYTES: Readonly<Record<SectorSizeTag, number>> = {
  '2k': 2 ** 11,
  '8m': 2 ** 23,
  '512m': 2 ** 29,
  '32g': 2 ** 35,
  '64g': 2 ** 36,
}

/** Sector sizes as the chain and the Rust crates write them. */
export type SectorSizeName = '2KiB' | '8MiB' | '512MiB' | '32GiB' | '64GiB'

/** The names by tag. */
export const SECTOR_SIZE_NAMES: Readonly<Record<SectorSizeTag, SectorSizeName>> = {
  '2k': '2KiB',
  '8m': '8MiB',
  '512m': '512MiB',
  '32g': '32GiB',
  '64g': '64GiB',
}

/** The inverse of {@link parseCircuitId}. */
export function circuitIdOf(family: CircuitFamily, size: SectorSizeTag): CircuitId {
  return `${family}-${size}`
}

/** Whether a value from outside names a circuit. */
export function isCircuitId(value: unknown): value is CircuitId {
  return CIRCUIT_FAMILIES.some((family) => SECTOR_SIZE_TAGS.some((size) => value === circuitIdOf(family, size)))
}

/** Splits a circuit id into its two halves. */
export function parseCircuitId(circuitId: CircuitId): { readonly family: CircuitFamily; readonly size: SectorSizeTag } {
  const [family, size] = circuitId.split('-') as [CircuitFamily, SectorSizeTag]
  return { family, size }
}
