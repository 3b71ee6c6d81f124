import type { Database, ManualClock, Transaction } from '@gatehouse/kit'

/** How long each transaction waits for its first lock of a table, and for its commit, in milliseconds. */
const [lockMs, commitMs] = [20_000, 3_000]

/** A database with transactions that take long, by the clock of the test. */
export interface SlowDatabase {
  readonly database: Database
  /** When the last transaction with a lock of a table was committed, Unix milliseconds. */
  committedAt(): number
}

/** Makes the transactions of a database slow. */
export function slowDatabase(database: Database, clock: ManualClock): SlowDatabase {
  let committedAt = 0
  const slow: Pick<Database, 'query' | 'transaction'> = {
    query: (query, values) => database.query(query, values),
    transaction: async (run) => {
      const locks = new Set<string>()
      const result = await database.transaction(async (tx) => {
        const query: Transaction['query'] = (text, values) => {
          const lock = String(text)
          if (lock.startsWith('LOCK TABLE') && !locks.has(lock)) {
            clock.advance(lockMs)
            locks.add(lock)
          }
          return tx.query(text, values)
        }
        const done = await run({ ...tx, query })
        clock.advance(commitMs)
        return done
      })
      if (locks.size > 0) committedAt = clock.now()
      return result
    },
  }
  return { database: slow as Database, committedAt: () => committedAt }
}
