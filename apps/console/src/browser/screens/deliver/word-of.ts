type Table = Readonly<Record<string, string>>

/** The word for a code; the code itself where a newer server answers one that is not known here. */
export function wordOf(table: Table, code: string): string {
  return (Object.hasOwn(table, code) ? table[code] : undefined) ?? code.replaceAll('_', ' ')
}
