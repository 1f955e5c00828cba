/** Columns of text, each as wide as its widest cell, indented by two. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, k) => Math.max(title.length, ...rows.map((row) => row[k]?.length ?? 0)))
  return [head, ...rows].map((row) => `  ${row.map((cell, k) => cell.padEnd(widths[k] ?? 0)).join('  ')}`.trimEnd())
}
