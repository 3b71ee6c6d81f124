import type { Transaction } from '@gatehouse/kit'
import type { Decided, PlannedNotification } from '../admission.ts'
import { newId } from '../ids.ts'
import { columns, optionalTimestamp, timestamp } from './words.ts'

interface Item {
  readonly notification: PlannedNotification
  readonly actor: string
  readonly flushAt: number
  readonly channels: string
}

/**
 * Puts aggregated notifications into the pending set of their user and event type: opens a window where none is open,
 * joins it where one is. Items for one window are grouped before the upsert; a joiner that meets a flush waits for its
 * row, finds it closed, and opens the next.
 */
export async function joinWindows(
  tx: Transaction,
  bucket: number,
  decided: readonly Decided[],
  now: number,
): Promise<void> {
  const items = decided.flatMap(({ notification, deliveries }): Item[] => {
    const channels = deliveries.filter(({ outcome }) => outcome === 'aggregated').map(({ channel }) => channel)
    const { item } = notification
    return item && channels.length > 0 ? [{ notification, ...item, channels: channels.join(',') }] : []
  })
  if (items.length === 0) return
  const groups = Map.groupBy(items, ({ notification }) => setOf(notification.userId, notification.event))
  const sets = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, [first]]) => (first ? [first] : []))
  const { rows } = await tx.query<{ id: string; user_id: string; event: string }>({
    name: 'notify_open_windows',
    text: `INSERT INTO notify.pending_window (bucket, id, user_id, event, state, flush_at)
           SELECT $1, w.id, w.user_id, w.event, 'open', w.flush_at
             FROM unnest($2::uuid[], $3::text[], $4::text[], $5::timestamptz[]) WITH ORDINALITY
                  AS w (id, user_id, event, flush_at, place) ORDER BY w.place
           ON CONFLICT (bucket, user_id, event) WHERE state = 'open' DO UPDATE SET state = excluded.state
           RETURNING id, user_id, event`,
    values: [
      bucket,
      ...columns(
        sets,
        () => newId(bucket),
        (s) => s.notification.userId,
        (s) => s.notification.event,
        (s) => timestamp(s.flushAt),
      ),
    ],
  })
  const windows = new Map(rows.map((row) => [setOf(row.user_id, row.event), row.id]))
  await tx.query({
    name: 'notify_write_items',
    text: `INSERT INTO notify.pending_item (bucket, window_id, notification_id, actor, at, data, channels, by_request, expires_at)
           SELECT $1, i.window_id, i.notification_id, i.actor, $7, i.data::jsonb, string_to_array(i.channels, ','), i.by_request,
                  i.expires_at
             FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $8::boolean[], $9::timestamptz[])
                  AS i (window_id, notification_id, actor, data, channels, by_request, expires_at)`,
    values: [
      bucket,
      ...columns(
        items,
        (i) => windows.get(setOf(i.notification.userId, i.notification.event)),
        (i) => i.notification.id,
        (i) => i.actor,
        (i) => JSON.stringify(i.notification.data),
        (i) => i.channels,
      ),
      timestamp(now),
      items.map(({ notification }) => notification.requested !== undefined),
      ...columns(items, ({ notification }) => optionalTimestamp(notification.expiresAt)),
    ],
  })
}

function setOf(userId: string, event: string): string {
  return JSON.stringify([userId, event])
}
