/** What keeps a table from growing without end; every table of every service has one. */
export interface TableBound {
  /** Without its schema. */
  readonly table: string
  /** What ages its rows, or what they stand for, one each. */
  readonly bound: string
  /** The setting that says how long its rows are kept, as it is written in the file. */
  readonly setting?: string
  /** How long that is where the file doesn't say, in words. */
  readonly kept?: string
}

/** The table in which `migrate` keeps what it applied, in each schema. */
export const migrationTable: TableBound = { table: 'migration', bound: 'one for each migration of the program' }
