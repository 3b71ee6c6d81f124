/** What limits the growth of a table; every table of every service has one. */
export interface TableBound {
  /** Without its schema. */
  readonly table: string
  /** What deletes its rows, or what each row stands for. */
  readonly bound: string
  /** The setting that says how long its rows are kept, as it is written in the file. */
  readonly setting?: string
  /** The default of that setting, in words. */
  readonly kept?: string
}

/** The table in which `migrate` keeps what it applied, in each schema. */
export const migrationTable: TableBound = { table: 'migration', bound: 'one for each migration of the program' }
