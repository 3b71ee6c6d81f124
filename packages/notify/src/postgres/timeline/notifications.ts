import type { Database } from '@gatehouse/kit'
import { type Channel, channels } from '../../model/channel.ts'
import type { DeliveryState } from '../../model/delivery-state.ts'
import { bucketOfId, channelOf, deliveryIdOf } from '../../model/id.ts'
import type { DeliveryRecord, NotificationRecord } from '../../model/notification.ts'
import type { Priority } from '../../model/priority.ts'
import { isOutcomeEntry, type TimelineEntry } from '../../model/timeline.ts'
import type { Notifications } from '../../store/store.ts'
import { withoutNulls } from '../sql/columns.ts'
import { readDecisions, type StoredEntry } from './decisions.ts'

interface NotificationRow {
  readonly id: string
  readonly user_id: string
  readonly event: string
  readonly priority: Priority
  readonly dedup_key: string | null
  readonly decisions: StoredEntry[]
  readonly accepted_at: number
  readonly expires_at: number | null
}

interface DeliveryRow {
  readonly id: string
  readonly state: DeliveryState
  readonly provider: string | null
  readonly ended: string | null
  readonly sent_at: number | null
  readonly sent_entry: string
  readonly sent_attempt: number
  readonly sent_detail: Record<string, unknown> | null
}

interface EventRow {
  readonly id: string
  readonly channel: Channel | null
  readonly at: number
  readonly entry_type: string
  readonly state: string | null
  readonly detail: Record<string, unknown> | null
}

/** Notifications with their timelines, on PostgreSQL. */
export function postgresNotifications(database: Database, buckets: number): Notifications {
  return {
    async find(id) {
      return find(database, bucketOfId(id, buckets), id)
    },
  }
}

async function find(database: Database, bucket: number, id: string): Promise<NotificationRecord | undefined> {
  const { rows } = await database.query<NotificationRow>(
    `SELECT id, user_id, event, priority, dedup_key, decisions, accepted_at, expires_at FROM notify.notification
      WHERE bucket = $1 AND id = $2`,
    [bucket, id],
  )
  const [row] = rows
  if (!row) return undefined
  const deliveries = await database.query<DeliveryRow>(
    `SELECT id, state, provider, ended, sent_at, sent_entry, sent_attempt, sent_detail
       FROM notify.delivery WHERE bucket = $1 AND id = ANY($2::uuid[]) ORDER BY id`,
    [bucket, channels.map((channel) => deliveryIdOf(id, channel))],
  )
  const events = await database.query<EventRow>(
    `SELECT id, channel, at, entry_type, state, detail FROM notify.timeline_entry
      WHERE bucket = $1 AND notification_id = $2 ORDER BY id`,
    [bucket, id],
  )
  const own = {
    id: row.id,
    userId: row.user_id,
    event: row.event,
    priority: row.priority,
    acceptedAt: row.accepted_at,
    ...withoutNulls({ expiresAt: row.expires_at }),
    ...(row.dedup_key === null ? {} : { dedupKey: row.dedup_key }),
  }
  const happened = [...events.rows, ...deliveries.rows.flatMap(sendingOf)].sort((a, b) => (a.id < b.id ? -1 : 1))
  const timeline = [...readDecisions(own, row.decisions), ...happened.map(entryOf)]
  return {
    ...own,
    deliveries: deliveriesOf(timeline, deliveries.rows),
    timeline,
  }
}

/** The last outcome of each channel, with the state of its delivery; a fallback stands beside them. */
function deliveriesOf(timeline: readonly TimelineEntry[], rows: readonly DeliveryRow[]): DeliveryRecord[] {
  return channels.flatMap((channel): DeliveryRecord[] => {
    const last = timeline.filter(isOutcomeEntry).findLast((entry) => entry.channel === channel)
    const row = rows.find(({ id }) => channelOf(id) === channel)
    if (!last && !row) return []
    const id = last?.detail?.delivery_id
    const outcome = last?.what ?? 'queued'
    return [{ channel, outcome, ...(id === undefined ? {} : { id }), ...(row ? stateOf(row) : {}) }]
  })
}

function stateOf({ id, state, provider, ended }: DeliveryRow): Partial<DeliveryRecord> {
  return { id, state, ...withoutNulls({ provider, ended }) }
}

/** The entry of the timeline that stands in the delivery itself. */
function sendingOf(row: DeliveryRow): EventRow[] {
  const { provider, sent_at: at, sent_attempt: attempt, sent_detail: stored } = row
  if (at === null) return []
  const channel = channelOf(row.id) ?? null
  const detail = { attempt, ...(stored ?? { results: [{ target: channel, provider, result: 'accepted' }] }) }
  return [{ id: row.sent_entry, channel, at, entry_type: 'sent', state: 'sent', detail }]
}

function entryOf({ at, entry_type: what, state, channel, detail }: EventRow): TimelineEntry {
  return {
    at,
    what,
    ...(channel ? { channel } : {}),
    ...(state || detail ? { detail: { ...(state ? { state } : {}), ...detail } } : {}),
  } as TimelineEntry
}
