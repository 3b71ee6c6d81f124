export { storable } from '../../model/storable.ts'

let written = { at: 0, text: new Date(0).toISOString() }

/** A point in time (Unix milliseconds) as PostgreSQL reads it. The rows of a batch mostly ask for the same one. */
export function timestamp(unixMilliseconds: number): string {
  if (written.at !== unixMilliseconds)
    written = { at: unixMilliseconds, text: new Date(unixMilliseconds).toISOString() }
  return written.text
}

/** The same, or null where there is none. */
export function optionalTimestamp(unixMilliseconds: number | null | undefined): string | null {
  return unixMilliseconds === null || unixMilliseconds === undefined ? null : timestamp(unixMilliseconds)
}

/** A row's columns without those that are null, so that absent stays absent. */
export function withoutNulls<Row extends object>(row: Row): { [Name in keyof Row]?: NonNullable<Row[Name]> } {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as {
    [Name in keyof Row]?: NonNullable<Row[Name]>
  }
}

/** Documents as one JSON array, which `json_array_elements` deals out: none of their quotes is escaped again. */
export function documents<Item>(items: readonly Item[], pick: (item: Item) => unknown): string {
  return `[${items.map((item) => JSON.stringify(pick(item))).join(',')}]`
}

type Cell = string | number | boolean | null | undefined

/** Rows turned into columns, as `unnest` takes them: one array literal each. */
export function columns<Item>(items: readonly Item[], ...pick: ReadonlyArray<(item: Item) => Cell>): string[] {
  return pick.map((column) => `{${items.map((item) => cell(column(item))).join(',')}}`)
}

function cell(value: Cell): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value !== 'string') return String(value)
  return value.includes('"') || value.includes('\\') ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`
}

/** A text as it is written in a statement. */
export function literal(text: string | null): string {
  if (text === null) return 'NULL'
  const doubled = text.replaceAll("'", "''")
  return text.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`
}
