import type { Database } from '@gatehouse/kit'
import { bucketOfUser, newIdOfUser } from '../../model/id.ts'
import type { RateGrant, RateRequest } from '../../store/store.ts'
import { atEach } from '../nodes/spread-database.ts'
import { documents, timestamp } from '../sql/columns.ts'

/**
 * Takes from the event types' rates: fixed windows that all processes share. What may wait and gets nothing, or finds
 * others of its type waiting, is parked in the same transaction. All of it is one message to the server, which commits
 * before it reads on: a client that falls silent holds no rate.
 */
export async function acquireRates(
  database: Database,
  buckets: number,
  requests: readonly RateRequest[],
  now: number,
): Promise<Map<string, RateGrant>> {
  const sorted = [...requests].sort((a, b) => (a.event < b.event ? -1 : 1))
  const waiting = sorted.flatMap(({ event, parkable }) => parkable.map((each, turn) => ({ ...each, event, turn })))
  const mayWaitIn = [...new Set(waiting.map(({ request }) => bucketOfUser(request.user_id, buckets)))]
  const on = mayWaitIn.length > 0 ? atEach(database, mayWaitIn) : database
  const { rows } = await on.query<{ results: ReadonlyArray<RateGrant & { readonly event: string }> | null }>({
    name: 'notify_acquire_rates',
    text: 'CALL notify.acquire_rates($1, $2, $3, NULL)',
    values: [
      documents(sorted, ({ event, count, parkable, rate }) => ({
        event,
        count,
        parkable: parkable.length,
        maximum: rate.limit,
        span_ms: rate.perSeconds * 1000,
      })),
      documents(waiting, ({ event, key, place, turn, request, occurredAt }) => ({
        bucket: bucketOfUser(request.user_id, buckets),
        event,
        key,
        id: newIdOfUser(request.user_id),
        place,
        turn,
        user_id: request.user_id,
        payload: request,
        occurred_at: timestamp(occurredAt),
      })),
      timestamp(now),
    ],
  })
  const results = rows[0]?.results ?? []
  return new Map(results.map(({ event, ...granted }) => [event, granted]))
}
