/**
 * Names that callers spell, of options and of a request's fields. A misspelt one would be ignored without a word, so
 * those that nothing has are refused, with the name that is likely meant.
 */

/** Letters that may be wrong, missing or too many: two, and of a short name at most a third. */
const mostEdits = (name: string): number => Math.min(2, Math.floor(name.length / 3))

/** Case and word marks are no difference: `miner_id` is meant to be `minerId`. */
const letters = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

/** The known name that is nearest to one that is unknown, if any is near. Ties go to the first. */
export function nearestName(unknown: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined
  let fewest = Number.POSITIVE_INFINITY
  for (const name of known) {
    // Names that differ in length alone by more are not compared: a caller's key may be of any length.
    if (Math.abs(unknown.length - name.length) > 4) continue
    const count = edits(letters(unknown), letters(name))
    if (count < fewest && count <= mostEdits(name)) [nearest, fewest] = [name, count]
  }
  return nearest
}

/**
 * Levenshtein's distance: the fewest letters to insert, delete or replace. Row i of the table holds the distances of
 * the first i letters of `a` from each beginning of `b`; only one row is kept.
 */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
