import type { Transaction } from '@gatehouse/kit'

/** A point in time (Unix milliseconds) as PostgreSQL reads it. */
export function timestamp(unixMilliseconds: number): string {
  return new Date(unixMilliseconds).toISOString()
}

/** A row's columns without those that are null, so that absent stays absent. */
export function present<Row extends object>(row: Row): { [Name in keyof Row]?: NonNullable<Row[Name]> } {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as {
    [Name in keyof Row]?: NonNullable<Row[Name]>
  }
}

/** Rows turned into columns, as `unnest` takes them. */
export function columns<Item>(items: readonly Item[], ...pick: ReadonlyArray<(item: Item) => unknown>): unknown[][] {
  return pick.map((column) => items.map(column))
}

/**
 * Has the statements of this transaction planned for the tables as they are now. A plan that was kept from when a table
 * was small reads the whole of it for every batch once it has grown. It travels with the statement that follows, and
 * costs a batch what one event costs.
 */
export function planAfresh(tx: Transaction): Promise<unknown> {
  return tx.query('SET LOCAL plan_cache_mode = force_custom_plan')
}
