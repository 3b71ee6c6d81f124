import { checkKind, encodeId, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { Completion, CounterResult, CounterStore } from '../store.ts'
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
import { type Lock, lockRows, purgeRows, readRows, type SqlDatabase, writeRows } from './table.ts'

export { limiterTables, type SqlDatabase, type SqlHandle } from './table.ts'

export interface PostgresStoreOptions {
  /** By whose clock windows are counted: the database's (default), or the limiter's own, for tests that move time. */
  readonly clock?: 'database' | 'limiter'
}

/** The files that make the table, in a schema named `limiter`, in the order of their names. */
export const migrations: URL = new URL('migrations/', import.meta.url)

/**
 * Counters in PostgreSQL: for the few policies that all processes have to share where there is no Redis, such as those of
 * signing in. The table is made by `migrations`.
 */
export function postgresStore(database: SqlDatabase, options: PostgresStoreOptions = {}): CounterStore {
  return new PostgresCounters(database, options)
}

interface Call {
  readonly policy: Policy
  readonly keys: readonly string[]
  readonly make: Change
  readonly now: number
  /** Until when something may be counted, by `performance.now()`. */
  readonly until: number
  readonly completion: Completion
}

const maxCallsPerTransaction = 128
const maxCallsWaiting = 4_096
const purgeEveryMs = 60_000
const tooLate = 'the database came to the check too late, and did not count it'

/**
 * Calls travel together in one transaction, which locks their rows in the order of the keys; those that arrive meanwhile
 * wait for the next. A process so takes up one connection, however many checks there are.
 */
class PostgresCounters implements CounterStore {
  readonly combines = true
  readonly #database: SqlDatabase
  readonly #countsByDatabase: boolean
  #calls: Call[] = []
  #isRunning = false
  #purgedAt = performance.now()

  constructor(database: SqlDatabase, { clock = 'database' }: PostgresStoreOptions) {
    this.#database = database
    this.#countsByDatabase = clock === 'database'
  }

  acquire(
    policy: Policy,
    identifier: Identifier,
    cost: number,
    now: number,
    withinMs?: number,
  ): Promise<CounterResult> {
    return this.#call(policy, identifier, now, acquireUnits(cost), withinMs)
  }

  async peek(policy: Policy, identifier: Identifier, now: number): Promise<CounterResult> {
    const keys = keysOf(policy, identifier)
    const lock = await readRows(this.#database, keys)
    return applyChange(policy, rowsOf(lock, keys), checkRules(), this.#countsByDatabase ? lock.now : now)
  }

  add(
    policy: Policy,
    identifier: Identifier,
    amounts: readonly number[],
    now: number,
    then?: number,
  ): Promise<CounterResult> {
    return this.#call(policy, identifier, now, addAmounts(amounts, then))
  }

  grant(policy: Policy, identifier: Identifier, amount: number, now: number): Promise<CounterResult> {
    return this.#call(policy, identifier, now, grantUnits(policy, amount))
  }

  raise(policy: Policy, identifier: Identifier, counters: readonly number[], now: number): Promise<CounterResult> {
    return this.#call(policy, identifier, now, raiseCounters(counters))
  }

  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    await this.#call(policy, identifier, now, resetCounters(policy))
  }

  #call(
    policy: Policy,
    identifier: Identifier,
    now: number,
    make: Change,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<CounterResult> {
    const keys = keysOf(policy, identifier)
    if (this.#calls.length >= maxCallsWaiting)
      return Promise.reject(new Error(`${maxCallsWaiting} calls wait for the counters in the database`))
    return new Promise((answered, failed) => {
      const until = performance.now() + withinMs
      this.#calls.push({ policy, keys, make, now, until, completion: { resolve: answered, reject: failed } })
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
      const answers = await this.#database.transaction(async (tx) => {
        const lock = await lockRows(tx, [...new Set(calls.flatMap(({ keys }) => keys))].sort())
        const made = calls.map((call) => this.#make(call, lock))
        await writeRows(tx, lock, leftMs(calls.filter((_, i) => made[i] !== undefined)))
        return made
      })
      calls.forEach(({ completion: waiter }, i) => {
        const result = answers[i]
        if (result === undefined) waiter.reject(new Error(tooLate))
        else waiter.resolve(result)
      })
    } catch (error) {
      for (const { completion: waiter } of calls) waiter.reject(error)
    }
  }

  /** Undefined, and nothing done, for a call whose caller waits no more. */
  #make({ policy, keys, make, now, until }: Call, lock: Lock): CounterResult | undefined {
    if (performance.now() > until) return undefined
    return applyChange(policy, rowsOf(lock, keys), make, this.#countsByDatabase ? lock.now : now)
  }

  async #purge(): Promise<void> {
    if (performance.now() - this.#purgedAt < purgeEveryMs) return
    this.#purgedAt = performance.now()
    // What could not be purged is purged a minute later; no count depends on it. More than a purge takes is gone on with
    // after the next calls: under an attack rows are made faster than a purge a minute removes.
    if (await purgeRows(this.#database).catch(() => false)) this.#purgedAt = Number.NEGATIVE_INFINITY
  }
}

/** Faults in the identifier are told at once, so that they don't spoil the calls that travel with it. */
function keysOf(policy: Policy, { kind, id }: Identifier): string[] {
  checkKind(kind)
  return rowKeys(policy, { kind, id: encodeId(id) })
}

function rowsOf({ rows }: Lock, keys: readonly string[]) {
  return keys.flatMap((key) => rows.get(key) ?? [])
}

/** How long the least patient of the callers still waits. */
function leftMs(calls: readonly Call[]): number | undefined {
  const until = Math.min(...calls.map((call) => call.until))
  return Number.isFinite(until) ? until - performance.now() : undefined
}
