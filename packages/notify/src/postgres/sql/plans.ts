import type { Database, Query, Rows, Transaction } from '@gatehouse/kit'
import { at } from '../nodes/spread-database.ts'
import type { BucketScope } from './buckets.ts'

/**
 * SQL that finds rows by a key among those of a parameter, never by reading the table. Where statistics are missing the
 * planner takes a bucket for a sliver of its table and reads the whole of it to join a few rows; where there are many keys
 * it takes reading everything for cheaper. It can't count what comes out of a subquery, and so it uses the index.
 */
export function among(column: string, parameter: string, type: 'uuid' | 'text' = 'uuid'): string {
  return `${column} = ANY (ARRAY(SELECT unnest(${parameter}::${type}[])))`
}

/**
 * SQL that meets a row of a table by its bucket and key, for statements that change what the rows of a parameter name. As
 * plain equalities the planner may take them the other way round: where it believes that few rows are left by the other
 * conditions, it reads the whole index, and compares each row with all of the parameter. These it can but look up.
 */
export function keyOf(table: string, row: string, key = 'id', rowKey = key): string {
  return `${table}.bucket = ANY (ARRAY[${row}.bucket]) AND ${table}.${key} = ANY (ARRAY[${row}.${rowKey}])`
}

/**
 * Has the statements of a transaction planned for the tables as they are now. A plan that was kept from when a table was
 * small reads the whole of it for every batch once it has grown. It travels with the statement that follows, and costs a
 * batch what one event costs.
 */
export const customPlan = 'SET LOCAL plan_cache_mode = force_custom_plan'

/** Sends {@link customPlan}. */
export function useCustomPlans(tx: Transaction): Promise<unknown> {
  return tx.query(customPlan)
}

/**
 * Statements in one transaction and one round trip, planned for the tables as they are now. Where they are for one bucket
 * on some node, plans are kept: they are only the way to that node, which costs more to find than the statement takes.
 */
export async function readTogether(
  database: Database,
  scope: BucketScope,
  queries: readonly Query[],
): Promise<Array<Rows<object>>> {
  const settings = scope.bucket === undefined ? [customPlan] : []
  const answers = await at(database, scope.bucket).pipeline<object>([...settings, ...queries])
  return answers.slice(settings.length)
}

/** Joins the rows of parameters to tables row by row, by the tables' indexes, whatever a planner takes those for. */
export const joinsByIndex = `set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
                set_config('enable_seqscan', 'off', true)`

/**
 * Has the statements of a transaction that follow join the rows of their parameters to tables row by row, by the tables'
 * indexes: those rows are few, whatever a planner without statistics takes their tables for.
 */
export const byIndexes: Query = {
  name: 'notify_by_indexes',
  text: `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), ${joinsByIndex}`,
}

/**
 * Has a statement on the delivery queue planned once for each connection, as to plan takes longer than to run. Of a queue
 * that holds next to nothing every index seems as good, so as long as it is small it is planned for each call.
 */
export const keepsPlansOfQueue = `set_config('plan_cache_mode', CASE WHEN pg_relation_size('notify.delivery_queue') < 64 * 8192
  THEN 'force_custom_plan' ELSE 'force_generic_plan' END, true)`

const queueByIndexes: Query = { name: 'notify_queue_by_indexes', text: `SELECT ${keepsPlansOfQueue}, ${joinsByIndex}` }

/**
 * One statement in a transaction of its own and one round trip, planned {@link byIndexes}. Where it is for one bucket on some
 * node, its plan is kept.
 */
export function queryByIndexes<Row extends object>(
  database: Database,
  scope: BucketScope,
  query: Query,
): Promise<Rows<Row>> {
  return queryPlanned(database, scope, query, byIndexes)
}

/** The same for a statement on the delivery queue alone, whose plan is kept once the queue is large enough to tell. */
export function queryQueue<Row extends object>(
  database: Database,
  scope: BucketScope,
  query: Query,
): Promise<Rows<Row>> {
  return queryPlanned(database, scope, query, queueByIndexes)
}

async function queryPlanned<Row extends object>(
  database: Database,
  scope: BucketScope,
  query: Query,
  settings: Query,
): Promise<Rows<Row>> {
  if (scope.bucket !== undefined) return at(database, scope.bucket).query<Row>(query)
  const [, found] = await database.pipeline<Row>([settings, query])
  return found as Rows<Row>
}
