/** Lines of at most so many columns, where words allow it; those after the first are indented. */
export function wrapped(text: string, indent: string, columns = 100): string[] {
  const [first = '', ...words] = text.trimStart().split(' ')
  const lines: string[] = []
  let line = ' '.repeat(text.length - text.trimStart().length) + first
  for (const word of words) {
    if (line.length + 1 + word.length <= columns) line += ` ${word}`
    else {
      lines.push(line)
      line = indent + word
    }
  }
  return [...lines, line]
}

/** Columns of text, each as wide as its widest cell, indented by two. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, k) => Math.max(title.length, ...rows.map((row) => row[k]?.length ?? 0)))
  return [head, ...rows].map((row) => `  ${row.map((cell, k) => cell.padEnd(widths[k] ?? 0)).join('  ')}`.trimEnd())
}
