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
