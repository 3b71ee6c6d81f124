import type { Database, Query, Rows } from '@gatehouse/kit'
import { at } from '../nodes/spread-database.ts'
import type { BucketScope } from './buckets.ts'

/**
 * Has the statements of a transaction find rows by indexes alone, planned once for each connection and never compiled. The
 * plan is then the same whatever the tables hold and whatever the statistics say, and so it can be kept.
 */
const indexPlans: Query = {
  name: 'notify_index_plans',
  text: `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
                set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
                set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`,
}

/**
 * One statement in a transaction of its own, which finds rows by indexes alone: one round trip. For one bucket of a
 * distributed database it is planned for its values, as it has to be: without them nobody knows on which node that is.
 */
export async function queryByIndex<Row extends object>(
  database: Database,
  { bucket }: Pick<BucketScope, 'bucket'>,
  query: Query,
): Promise<Rows<Row>> {
  if (bucket !== undefined) return at(database, bucket).query<Row>(query)
  const [, found] = await database.pipeline<Row>([indexPlans, query])
  return found as Rows<Row>
}
