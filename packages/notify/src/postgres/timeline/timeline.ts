import type { Query } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { DeliveryState } from '../../model/delivery/delivery-state.ts'
import { newIdBeside } from '../../model/id.ts'
import type { TimelineEntryType } from '../../model/notification/timeline.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../sql/buckets.ts'
import { columns, documents, timestamp } from '../sql/columns.ts'

/** An entry of a notification's timeline, before it is appended. */
export interface NewTimelineEntry {
  readonly notificationId: string
  readonly deliveryId?: string | undefined
  readonly channel?: Channel | null | undefined
  /** Unix milliseconds. */
  readonly at: number
  readonly entryType: TimelineEntryType
  /** The state that the delivery came to, where the entry changed it. */
  readonly state?: DeliveryState | undefined
  readonly detail?: Readonly<Record<string, unknown>> | undefined
  /** Of a provider's report: what tells it from others, as a UUID. */
  readonly reportKey?: string | undefined
}

/**
 * The statement that appends entries to timelines, for a transaction and for {@link runAtOnce}; none where there are no
 * entries. Two statements append within themselves, for the database finds what they are about: those that remove whole
 * windows, and those that record duplicates.
 */
export function appendTimeline(scope: BucketScope, entries: readonly NewTimelineEntry[]): Array<Query & Statement> {
  if (entries.length === 0) return []
  return [
    {
      name: nameFor(scope, 'notify_append_timeline'),
      text: textFor(
        scope,
        `INSERT INTO notify.timeline_entry (bucket, notification_id, id, delivery_id, channel, at, entry_type, state, report_key, detail)
         SELECT e.bucket, e.notification_id, e.id, e.delivery_id, e.channel, e.at, e.entry_type, e.state, e.report_key,
                CASE WHEN json_typeof(e.detail) = 'object' THEN e.detail END
           FROM ROWS FROM (
                  unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::timestamptz[], $7::text[], $8::text[], $9::uuid[]),
                  json_array_elements($10::json))
                AS e (bucket, notification_id, id, delivery_id, channel, at, entry_type, state, report_key, detail)`,
      ),
      values: [
        bucketsOfIds(scope, entries, (e) => e.notificationId),
        ...columns(
          entries,
          (e) => e.notificationId,
          (e) => newIdBeside(e.notificationId),
          (e) => e.deliveryId,
          (e) => e.channel,
          (e) => timestamp(e.at),
          (e) => e.entryType,
          (e) => e.state,
          (e) => e.reportKey,
        ),
        documents(entries, (e) => e.detail ?? null),
      ],
    },
  ]
}
