import type { AdmissionDecision } from '../../admission/admission.ts'
import type { PlannedNotification } from '../../admission/planned.ts'
import { newIdBeside } from '../../model/id.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { columns, optionalTimestamp, timestamp } from '../sql/columns.ts'

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
export function joinWindows(scope: BucketScope, decided: readonly AdmissionDecision[], now: number): Statement[] {
  const items = decided.flatMap(({ notification, deliveries }): Item[] => {
    const channels = deliveries.filter(({ outcome }) => outcome === 'aggregated').map(({ channel }) => channel)
    const { item } = notification
    return item && channels.length > 0 ? [{ notification, ...item, channels: channels.join(',') }] : []
  })
  if (items.length === 0) return []
  const groups = Map.groupBy(items, ({ notification }) => setOf(notification.userId, notification.event))
  const sets = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, [first]]) => (first ? [first] : []))
  return [openWindows(scope, sets), writeItems(scope, items, now)]
}

function openWindows(scope: BucketScope, sets: readonly Item[]): Statement {
  return {
    text: textFor(
      scope,
      `INSERT INTO notify.pending_window (bucket, id, user_id, event, state, flush_at)
       SELECT w.bucket, w.id, w.user_id, w.event, 'open', w.flush_at
         FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[]) WITH ORDINALITY
              AS w (bucket, id, user_id, event, flush_at, place) ORDER BY w.place
       ON CONFLICT (bucket, user_id, event) WHERE state = 'open' DO UPDATE SET state = excluded.state`,
    ),
    values: [
      bucketsOfIds(scope, sets, ({ notification }) => notification.id),
      ...columns(
        sets,
        (s) => newIdBeside(s.notification.id),
        (s) => s.notification.userId,
        (s) => s.notification.event,
        (s) => timestamp(s.flushAt),
      ),
    ],
  }
}

function writeItems(scope: BucketScope, items: readonly Item[], now: number): Statement {
  return {
    text: textFor(
      scope,
      `INSERT INTO notify.pending_item (bucket, window_id, notification_id, actor, at, data, channels, by_request, expires_at)
       SELECT i.bucket, w.id, i.notification_id, i.actor, $7::timestamptz, i.data::jsonb,
              string_to_array(i.channels, ','), i.by_request, i.expires_at
         FROM unnest($1::smallint[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $8::boolean[], $9::text[],
                     $10::timestamptz[])
              AS i (bucket, user_id, notification_id, actor, data, channels, by_request, event, expires_at)
        CROSS JOIN LATERAL (
          SELECT p.id FROM notify.pending_window p
           WHERE p.bucket = i.bucket AND p.user_id = i.user_id AND p.event = i.event AND p.state = 'open'
           LIMIT 1) AS w`,
    ),
    values: [
      bucketsOfIds(scope, items, ({ notification }) => notification.id),
      ...columns(
        items,
        (i) => i.notification.userId,
        (i) => i.notification.id,
        (i) => i.actor,
        (i) => JSON.stringify(i.notification.data),
        (i) => i.channels,
      ),
      timestamp(now),
      ...columns(
        items,
        (i) => i.notification.requested !== undefined,
        (i) => i.notification.event,
        (i) => optionalTimestamp(i.notification.expiresAt),
      ),
    ],
  }
}

function setOf(userId: string, event: string): string {
  return JSON.stringify([userId, event])
}
