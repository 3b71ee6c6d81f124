import type { Database, Query, Rows } from '@gatehouse/kit'

/**
 * Has the statements of a transaction find rows by indexes alone, planned once for each connection and never compiled. The
 * plan is then the same whatever the tables hold and whatever the statistics say, and so it can be kept.
 */
export const indexPlans: Query = {
  name: 'notify_index_plans',
  text: `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
                set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
                set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`,
}

/** One statement in a transaction of its own, which finds rows by indexes alone: one round trip. */
export async function queryByIndex<Row extends object>(database: Database, query: Query): Promise<Rows<Row>> {
  const [, found] = await database.pipeline<Row>([indexPlans, query])
  return found as Rows<Row>
}
