import { checkKind, encodeId, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { AcquireRequest, AddRequest, Completion, CounterResult, CounterStore } from '../store.ts'
import {
  acquireUnits,
  addAmounts,
  applyChange,
  type Change,
  checkRules,
  grantUnits,
  raiseCounters,
  resetCounters,
  rowKeys,
} from './calls.ts'
import type { Row } from './row.ts'
import { type LockedRows, lockRows, purgeRows, readRows, type SqlDatabase, writeRows } from './table.ts'

export { limiterTables, type SqlDatabase, type SqlHandle } from './table.ts'

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /** The clock by which windows are counted: the database's (default), or the limiter's own, for tests that move time. */
  readonly clock?: 'database' | 'limiter'
}

/** Folder of the SQL files that create the table, in a schema named `limiter`; run them in the order of their names. */
export const migrations: URL = new URL('migrations/', import.meta.url)

/**
 * Creates a store that keeps counters in PostgreSQL, for the few policies that all processes must share where there is no
 * Redis, such as those of logins. Run `migrations` first.
 *
 * @example
 * const limiter = createLimiter({ closedStore: postgresStore(database), closedDeadlineMs: 1000 })
 */
export function postgresStore(database: SqlDatabase, options: PostgresStoreOptions = {}): CounterStore {
  return new PostgresCounters(database, options)
}

interface Call {
  readonly policy: Policy
  readonly keys: readonly string[]
  readonly change: Change
  readonly now: number
  /** Until when something may be counted, by `performance.now()`. */
  readonly until: number
  readonly completion: Completion
}

const maxCallsPerTransaction = 128
const maxCallsWaiting = 4_096
const purgeEveryMs = 60_000

/**
 * Runs the calls that wait in one transaction, which locks their rows in the order of the keys; those that arrive
 * meanwhile wait for the next. A process uses one connection, however many checks there are.
 */
class PostgresCounters implements CounterStore {
  readonly combines = true
  readonly #database: SqlDatabase
  readonly #usesDatabaseClock: boolean
  #calls: Call[] = []
  #isRunning = false
  #purgedAt = performance.now()

  constructor(database: SqlDatabase, { clock = 'database' }: PostgresStoreOptions) {
    this.#database = database
    this.#usesDatabaseClock = clock === 'database'
  }

  acquire({ cost, withinMs, ...target }: AcquireRequest): Promise<CounterResult> {
    return this.#call(target, acquireUnits(cost), withinMs)
  }

  async peek(policy: Policy, identifier: Identifier, now: number): Promise<CounterResult> {
    const keys = keysOf(policy, identifier)
    const locked = await readRows(this.#database, keys)
    return applyChange(policy, selectRows(locked, keys), checkRules(), this.#usesDatabaseClock ? locked.now : now)
  }

  add({ amounts, countedAt, ...target }: AddRequest): Promise<CounterResult> {
    return this.#call(target, addAmounts(amounts, countedAt))
  }

  grant(policy: Policy, identifier: Identifier, amount: number, now: number): Promise<CounterResult> {
    return this.#call({ policy, identifier, now }, grantUnits(policy, amount))
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Promise<CounterResult> {
    return this.#call({ policy, identifier, now }, raiseCounters(counters, now))
  }

  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    await this.#call({ policy, identifier, now }, resetCounters(policy))
  }

  #call(
    { policy, identifier, now }: Pick<AcquireRequest, 'policy' | 'identifier' | 'now'>,
    change: Change,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<CounterResult> {
    const keys = keysOf(policy, identifier)
    if (this.#calls.length >= maxCallsWaiting)
      return Promise.reject(new Error(`${maxCallsWaiting} calls wait for the counters in the database`))
    return new Promise((resolve, reject) => {
      const until = performance.now() + withinMs
      this.#calls.push({ policy, keys, change, now, until, completion: { resolve, reject } })
      if (this.#isRunning) return
      this.#isRunning = true
      setImmediate(() => void this.#run())
    })
  }

  async #run(): Promise<void> {
    while (this.#calls.length > 0) {
      const calls = this.#calls.splice(0, maxCallsPerTransaction)
      await this.#runTogether(calls)
      await this.#purge()
    }
    this.#isRunning = false
  }

  async #runTogether(calls: readonly Call[]): Promise<void> {
    try {
      const results = await this.#database.transaction(async (tx) => {
        const locked = await lockRows(tx, [...new Set(calls.flatMap(({ keys }) => keys))].sort())
        const made = calls.map((call) => this.#runCall(call, locked))
        await writeRows(tx, locked, remainingMs(calls.filter((_, i) => made[i] !== undefined)))
        return made
      })
      calls.forEach(({ completion }, i) => {
        const result = results[i]
        if (result !== undefined) completion.resolve(result)
        else completion.reject(new Error('the check reached the database too late and was not counted'))
      })
    } catch (error) {
      for (const { completion } of calls) completion.reject(error)
    }
  }

  /** Undefined, and nothing changed, for a call whose caller no longer waits. */
  #runCall({ policy, keys, change, now, until }: Call, locked: LockedRows): CounterResult | undefined {
    if (performance.now() > until) return undefined
    return applyChange(policy, selectRows(locked, keys), change, this.#usesDatabaseClock ? locked.now : now)
  }

  async #purge(): Promise<void> {
    if (performance.now() - this.#purgedAt < purgeEveryMs) return
    this.#purgedAt = performance.now()
    // A purge that fails is repeated a minute later; no count depends on it. One that leaves rows is continued after the
    // next calls: an attack creates rows faster than one purge a minute removes them.
    if (await purgeRows(this.#database).catch(() => false)) this.#purgedAt = Number.NEGATIVE_INFINITY
  }
}

/** Throws for an invalid identifier at once, so that the calls that travel with it do not fail. */
function keysOf(policy: Policy, { kind, id }: Identifier): string[] {
  checkKind(kind)
  return rowKeys(policy, { kind, id: encodeId(id) })
}

function selectRows({ rows }: LockedRows, keys: readonly string[]): Row[] {
  return keys.flatMap((key) => rows.get(key) ?? [])
}

/** How long the caller with the shortest wait still waits. */
function remainingMs(calls: readonly Call[]): number | undefined {
  const until = Math.min(...calls.map((call) => call.until))
  return Number.isFinite(until) ? until - performance.now() : undefined
}
