import type { Database, Query, Rows, Transaction } from '@gatehouse/kit'

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

/** Text without what PostgreSQL can't store. */
export function storable(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').toWellFormed()
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

/**
 * SQL that finds rows by a key among those of a parameter, never by reading the table. Where statistics are missing the
 * planner takes a bucket for a sliver of its table and reads the whole of it to join a few rows; where there are many keys
 * it takes reading everything for cheaper. It can't count what comes out of a subquery, and so it asks the index.
 */
export function among(column: string, parameter: string, type: 'uuid' | 'text' = 'uuid'): string {
  return `${column} = ANY (ARRAY(SELECT unnest(${parameter}::${type}[])))`
}

/**
 * LIMIT for the first rows of an index. Told the number, a planner without statistics gathers and sorts all that waits
 * to answer a few; not told, it expects a tenth and walks the index until it has enough.
 */
export function hiddenLimit(parameter: string): string {
  return `LIMIT (SELECT ${parameter}::integer)`
}

/**
 * Has the statements of this transaction planned for the tables as they are now. A plan that was kept from when a table
 * was small reads the whole of it for every batch once it has grown. It travels with the statement that follows, and
 * costs a batch what one event costs.
 */
export function useCustomPlans(tx: Transaction): Promise<unknown> {
  return tx.query(customPlan)
}

/** What {@link useCustomPlans} sends, for a pipeline. */
export const customPlan = 'SET LOCAL plan_cache_mode = force_custom_plan'

/** One statement in a transaction of its own, planned for the tables as they are now: one round trip. */
export async function queryWithCustomPlan<Row extends object>(database: Database, query: Query): Promise<Rows<Row>> {
  const [, found] = await database.pipeline<Row>([customPlan, query])
  return found as Rows<Row>
}
