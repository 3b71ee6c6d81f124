import type { Database, Statements, Transaction } from '@gatehouse/kit'

/** Stops the nth pass (from 0) until the barrier is lifted. */
export interface Barrier {
  pass(): Promise<void>
  /** Resolves when a pass is stopped. */
  readonly reached: Promise<void>
  lift(): void
  /** How often it was passed or reached. */
  readonly passes: number
}

export function createBarrier(stop: number): Barrier {
  const [reached, lifted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let passes = 0
  return {
    async pass() {
      if (passes++ !== stop) return passes > stop ? lifted.promise : undefined
      reached.resolve()
      await lifted.promise
    },
    reached: reached.promise,
    lift: lifted.resolve,
    get passes() {
      return passes
    },
  }
}

/** A database whose every statement, and every commit, passes the barrier before it is sent. */
export function withBarrier(barrier: Pick<Barrier, 'pass'>, database: Database): Database {
  const passing = (on: Statements): Statements => ({
    async query(query, values) {
      await barrier.pass()
      return on.query(query, values)
    },
    async pipeline(queries) {
      await barrier.pass()
      return on.pipeline(queries)
    },
    transaction: (work) =>
      on.transaction(async (tx) => {
        const result = await work({
          async query(query, values) {
            await barrier.pass()
            return tx.query(query, values)
          },
          async finish(queries) {
            await barrier.pass()
            return tx.finish(queries)
          },
        } as Transaction)
        await barrier.pass()
        return result
      }),
  })
  return { ...database, ...passing(database), until: (signal) => passing(database.until(signal)) }
}
