import type { Database } from '@gatehouse/kit'
import { type Channel, channels } from '../../model/channel.ts'
import type { DeliveryState } from '../../model/delivery/delivery-state.ts'
import { bucketOfId, channelOf, deliveryIdOf, newIdBeside } from '../../model/id.ts'
import type { Data, DeliveryRecord } from '../../model/notification/notification.ts'
import type { Priority } from '../../model/notification/priority.ts'
import { isOutcomeEntry, type TimelineEntry } from '../../model/notification/timeline.ts'
import type { FollowedNotification, Notifications, StoredNotification } from '../../store/store.ts'
import { cancel } from '../delivery/cancel.ts'
import { at } from '../nodes/spread-database.ts'
import { timestamp, withoutNulls } from '../sql/columns.ts'
import { readDecisions, type StoredEntry } from './decisions.ts'

interface StoredRow {
  readonly user_id: string
  readonly event: string
  readonly accepted_at: number
  readonly expires_at: number | null
  readonly sensitive: boolean
  readonly requested: Channel[] | null
  readonly dedup_key: string | null
  readonly data: Data | null
}

export interface NotificationRow {
  readonly id: string
  readonly user_id: string
  readonly event: string
  readonly priority: Priority
  readonly dedup_key: string | null
  readonly decisions: StoredEntry[]
  readonly accepted_at: number
  readonly expires_at: number | null
}

export interface DeliveryRow {
  readonly id: string
  readonly state: DeliveryState
  readonly provider: string | null
  readonly ended: string | null
  readonly sent_at: number | null
  readonly sent_entry: string
  readonly sent_attempt: number
  readonly sent_detail: Record<string, unknown> | null
  readonly delivered_at: number | null
  readonly delivered_entry: string
}

export interface EventRow {
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
      const found = await follow(database, bucketOfId(id, buckets), id)
      if (!found) return undefined
      const { entryIds: _, ...record } = found
      return record
    },
    follow: (id) => follow(database, bucketOfId(id, buckets), id),
    async findProviderMessageId(deliveryId) {
      const bucket = bucketOfId(deliveryId, buckets)
      const { rows } = await at(database, bucket).query<{ id: string | null }>(
        'SELECT provider_message_id AS id FROM notify.delivery WHERE bucket = $1 AND id = $2',
        [bucket, deliveryId],
      )
      return rows[0]?.id ?? undefined
    },
    findStored: (id) => findStored(database, bucketOfId(id, buckets), id),
    cancel: (id, channels, now) => cancel(database, buckets, { id, channels, now }),
    async recordResent(id, newId, channels, now) {
      const bucket = bucketOfId(id, buckets)
      await at(database, bucket).query(
        `INSERT INTO notify.timeline_entry (bucket, notification_id, id, at, entry_type, detail)
         SELECT n.bucket, n.id, $3, $4, 'resent', $5 FROM notify.notification n
          WHERE n.bucket = $1 AND n.id = $2 AND NOT EXISTS (
            SELECT FROM notify.timeline_entry e
             WHERE e.bucket = $1 AND e.notification_id = $2 AND e.entry_type = 'resent' AND e.detail->>'into' = $6)`,
        [bucket, id, newIdBeside(id), timestamp(now), JSON.stringify({ into: newId, channels }), newId],
      )
    },
  }
}

const millisecondsOf = (column: string) => `round(extract(epoch FROM ${column}) * 1000)`

/** In one statement, and so as they were at one time: no entry says that a message was sent which its delivery does not. */
const followSql = `
SELECT id, user_id, event, priority, dedup_key, decisions, accepted_at, expires_at,
       (SELECT json_agg(json_build_object(
                 'id', d.id, 'state', d.state, 'provider', d.provider, 'ended', d.ended,
                 'sent_at', ${millisecondsOf('d.sent_at')}, 'sent_entry', d.sent_entry,
                 'sent_attempt', d.sent_attempt, 'sent_detail', d.sent_detail,
                 'delivered_at', ${millisecondsOf('d.delivered_at')}, 'delivered_entry', d.delivered_entry) ORDER BY d.id)
          FROM notify.delivery d WHERE d.bucket = $1 AND d.id = ANY ($3::uuid[])) AS deliveries,
       (SELECT json_agg(json_build_object(
                 'id', e.id, 'channel', e.channel, 'at', ${millisecondsOf('e.at')}, 'entry_type', e.entry_type,
                 'state', e.state, 'detail', e.detail) ORDER BY e.id)
          FROM notify.timeline_entry e WHERE e.bucket = $1 AND e.notification_id = $2) AS entries
  FROM notify.notification WHERE bucket = $1 AND id = $2`

interface FollowedRow extends NotificationRow {
  readonly deliveries: DeliveryRow[] | null
  readonly entries: EventRow[] | null
}

async function follow(database: Database, bucket: number, id: string): Promise<FollowedNotification | undefined> {
  const { rows } = await at(database, bucket).query<FollowedRow>(followSql, [
    bucket,
    id,
    channels.map((channel) => deliveryIdOf(id, channel)),
  ])
  const [row] = rows
  if (!row) return undefined
  const deliveries = row.deliveries ?? []
  const about = {
    id: row.id,
    userId: row.user_id,
    event: row.event,
    priority: row.priority,
    acceptedAt: row.accepted_at,
    ...withoutNulls({ expiresAt: row.expires_at }),
    ...(row.dedup_key === null ? {} : { dedupKey: row.dedup_key }),
  }
  const happened = [...(row.entries ?? []), ...deliveries.flatMap(ownEntriesOf)].sort((a, b) => (a.id < b.id ? -1 : 1))
  const decisions = readDecisions(about, row.decisions)
  const timeline = [...decisions, ...happened.map(entryOf)]
  return {
    ...about,
    deliveries: deliveriesOf(timeline, deliveries),
    timeline,
    entryIds: [...decisions.map((_, n) => `${id}/${n}`), ...happened.map((each) => each.id)],
  }
}

async function findStored(database: Database, bucket: number, id: string): Promise<StoredNotification | undefined> {
  const { rows } = await at(database, bucket).query<StoredRow>(
    `SELECT id, user_id, event, accepted_at, expires_at, sensitive, requested, dedup_key, data FROM notify.notification
      WHERE bucket = $1 AND id = $2`,
    [bucket, id],
  )
  const [row] = rows
  if (!row) return undefined
  const { user_id: userId, accepted_at: acceptedAt, expires_at: expiresAt, dedup_key: dedupKey, ...rest } = row
  const { event, sensitive, requested, data } = rest
  return { id, userId, event, acceptedAt, sensitive, ...withoutNulls({ expiresAt, requested, dedupKey, data }) }
}

/** The last outcome of each channel, with the state of its delivery; a fallback stands beside them. */
export function deliveriesOf(timeline: readonly TimelineEntry[], rows: readonly DeliveryRow[]): DeliveryRecord[] {
  return channels.flatMap((channel): DeliveryRecord[] => {
    const last = timeline.filter(isOutcomeEntry).findLast((entry) => entry.channel === channel)
    const row = rows.find(({ id }) => channelOf(id) === channel)
    if (!last && !row) return []
    const id = last?.detail?.delivery_id
    const outcome = last?.what ?? 'queued'
    const ended = !row && isCancelled(timeline, channel) ? { ended: 'cancelled' } : {}
    return [{ channel, outcome, ...(id === undefined ? {} : { id }), ...(row ? stateOf(row) : ended) }]
  })
}

/** What never had a delivery of its own is ended by its entry alone. */
function isCancelled(timeline: readonly TimelineEntry[], channel: Channel): boolean {
  const own = timeline.filter((entry) => entry.channel === channel)
  return own.findLast((entry) => entry.what === 'cancelled' || isOutcomeEntry(entry))?.what === 'cancelled'
}

function stateOf({ id, state, provider, ended }: DeliveryRow): Partial<DeliveryRecord> {
  return { id, state, ...withoutNulls({ provider, ended }) }
}

/** The entries of the timeline that stand in the delivery itself: that it was sent, and delivered. */
function ownEntriesOf(row: DeliveryRow): EventRow[] {
  const { provider, sent_at: sentAt, sent_attempt: attempt, sent_detail: stored, delivered_at: deliveredAt } = row
  const channel = channelOf(row.id) ?? null
  const entry = (id: string, at: number, state: DeliveryState, detail: EventRow['detail']): EventRow => ({
    ...{ id, channel, at, entry_type: state, state, detail },
  })
  const accepted = { results: [{ target: channel, provider, result: 'accepted' }] }
  return [
    ...(sentAt === null ? [] : [entry(row.sent_entry, sentAt, 'sent', { attempt, ...(stored ?? accepted) })]),
    ...(deliveredAt === null ? [] : [entry(row.delivered_entry, deliveredAt, 'delivered', { provider })]),
  ]
}

export function entryOf({ at, entry_type: what, state, channel, detail }: EventRow): TimelineEntry {
  return {
    at,
    what,
    ...(channel ? { channel } : {}),
    ...(state || detail ? { detail: { ...(state ? { state } : {}), ...detail } } : {}),
  } as TimelineEntry
}
