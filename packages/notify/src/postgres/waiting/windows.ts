import type { Database, Query } from '@gatehouse/kit'
import type { SettledWindow } from '../../admission/admission.ts'
import type { Channel } from '../../model/channel.ts'
import type { Data } from '../../model/notification.ts'
import type { ChosenBy, ClosedWindow, PendingItem, WindowSummary } from '../../store/store.ts'
import type { Statement } from '../sql/at-once.ts'
import { among, columns, customPlan, hiddenLimit, timestamp, withoutNulls } from '../sql/columns.ts'

/** Items of one window that are read at once, by number and by their bytes; one is read whatever its size. */
const itemsAtOnce = { number: 100, bytes: 65_536 } as const
/** Actors of a summary, and how much of each is kept. */
const actorsInSummary = { number: 100, characters: 200 } as const

/**
 * Closes what is due; a closed one whose flusher died is found again when its lease ends. What is closed is named to the
 * statements that follow in the same transaction.
 */
const closeWindowsSql = `
WITH due AS MATERIALIZED (
  SELECT id FROM notify.pending_window
   WHERE bucket = $1 AND flush_at <= $4 AND (lease_until IS NULL OR lease_until < now())
   ORDER BY flush_at ${hiddenLimit('$2')} FOR UPDATE SKIP LOCKED
), closed AS (
  UPDATE notify.pending_window w SET state = 'closed', lease_until = now() + $3::integer * interval '1 millisecond'
   WHERE w.bucket = $1 AND w.id = ANY (ARRAY(SELECT id FROM due))
  RETURNING w.id, w.user_id, w.event, w.individual
), named AS MATERIALIZED (
  SELECT set_config('notify.closed', coalesce(array_agg(id)::text, ''), true),
         set_config('notify.summed', coalesce(array_agg(id) FILTER (WHERE NOT individual)::text, ''), true) FROM closed
)
SELECT c.id, c.user_id, c.event FROM closed c CROSS JOIN named`

const namedAs = (name: string) => `unnest(nullif(current_setting('${name}', true), '')::uuid[])`

const itemsSql = `
SELECT w.id AS window_id, i.notification_id, i.actor, i.at, i.data, i.channels, i.by_request, i.expires_at
  FROM ${namedAs('notify.closed')} AS w (id) CROSS JOIN LATERAL (
    SELECT f.*, row_number() OVER first AS place,
           sum(octet_length(f.data::text) + octet_length(f.actor)) OVER first AS bytes
      FROM (SELECT * FROM notify.pending_item WHERE bucket = $1 AND window_id = w.id
             ORDER BY notification_id LIMIT ${itemsAtOnce.number}) AS f
    WINDOW first AS (ORDER BY f.notification_id)) AS i
 WHERE i.place = 1 OR i.bytes <= ${itemsAtOnce.bytes}
 ORDER BY i.notification_id`

const ofWindow = 'notify.pending_item WHERE bucket = $1 AND window_id = w.id'

const summariesSql = `
SELECT w.id, whole.*, actors.*, chosen.*,
       (SELECT data FROM ${ofWindow} ORDER BY notification_id DESC LIMIT 1) AS last_data
  FROM ${namedAs('notify.summed')} AS w (id)
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS count, min(at) AS first_at, max(at) AS last_at FROM ${ofWindow}) AS whole
 CROSS JOIN LATERAL (
   WITH each AS MATERIALIZED (
     SELECT actor, min(notification_id::text COLLATE "C") AS first FROM ${ofWindow} GROUP BY actor)
   SELECT (SELECT count(*)::integer FROM each) AS actor_count,
          ARRAY(SELECT left(actor, ${actorsInSummary.characters}) FROM each ORDER BY first LIMIT ${actorsInSummary.number}) AS actors) AS actors
 CROSS JOIN LATERAL (
   SELECT json_agg(json_build_object('channels', channels, 'byRequest', by_request)) AS chosen
     FROM (SELECT DISTINCT channels, by_request FROM ${ofWindow}) AS ways) AS chosen`

interface WindowRow {
  readonly id: string
  readonly user_id: string
  readonly event: string
}

interface ItemRow {
  readonly window_id: string
  readonly notification_id: string
  readonly actor: string
  readonly at: number
  readonly data: Data
  readonly channels: Channel[]
  readonly by_request: boolean
  readonly expires_at: number | null
}

interface SummaryRow {
  readonly id: string
  readonly count: number
  readonly first_at: number | null
  readonly last_at: number | null
  readonly actor_count: number
  readonly actors: string[]
  readonly chosen: ChosenBy[] | null
  readonly last_data: Data | null
}

/**
 * Closes the windows that are due, and reads them, in one round trip: who adds to one waits for its lock. Whatever a window
 * holds, what is answered of it is bounded: its first items, and a summary of the whole that the database counts.
 */
export async function closeWindows(
  database: Database,
  bucket: number,
  limit: number,
  leaseMs: number,
  now: number,
): Promise<ClosedWindow[]> {
  const [, closed, read, counted] = await database.pipeline<object>([
    customPlan,
    { name: 'notify_close_windows', text: closeWindowsSql, values: [bucket, limit, leaseMs, timestamp(now)] },
    { name: 'notify_first_items', text: itemsSql, values: [bucket] },
    { name: 'notify_sum_up_windows', text: summariesSql, values: [bucket] },
  ])
  const windows = (closed?.rows ?? []) as WindowRow[]
  const items = Map.groupBy((read?.rows ?? []) as ItemRow[], (row) => row.window_id)
  const summaries = new Map(((counted?.rows ?? []) as SummaryRow[]).map((row) => [row.id, summaryOf(row)]))
  return windows.map(({ id, user_id: userId, event }): ClosedWindow => {
    const summary = summaries.get(id)
    return { id, userId, event, items: (items.get(id) ?? []).map(itemOf), ...(summary ? { summary } : {}) }
  })
}

function itemOf({
  notification_id: notificationId,
  by_request: byRequest,
  expires_at: expiresAt,
  window_id: _,
  ...item
}: ItemRow): PendingItem {
  return { ...item, notificationId, byRequest, ...withoutNulls({ expiresAt }) }
}

function summaryOf(row: SummaryRow): WindowSummary {
  return {
    count: row.count,
    actorCount: row.actor_count,
    actors: row.actors,
    firstAt: row.first_at ?? 0,
    lastAt: row.last_at ?? 0,
    lastData: row.last_data ?? {},
    chosen: row.chosen ?? [],
  }
}

/**
 * Takes whole windows away, and records in the timeline of each of their items what became of it; the database sees to
 * the items, however many they are. `eventId` is the id of that entry, one for each window. Holds if all were there.
 */
export function removeWindows(
  bucket: number,
  windows: ReadonlyArray<Omit<SettledWindow, 'items'> & { readonly eventId: string }>,
  now: number,
): Statement {
  return {
    precondition: true,
    text: `WITH taken AS (
             DELETE FROM notify.pending_window w
              USING unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::boolean[]) AS s (id, entry_id, entry_type, detail, erases)
              WHERE w.bucket = $1::smallint AND ${among('w.id', '$2')} AND w.id = s.id AND w.state = 'closed'
             RETURNING w.id, s.entry_id, s.entry_type, s.detail, s.erases
           ), gone AS (
             DELETE FROM notify.pending_item i USING taken t
              WHERE i.bucket = $1::smallint AND i.window_id = ANY (ARRAY(SELECT id FROM taken)) AND i.window_id = t.id
             RETURNING i.notification_id, t.entry_id, t.entry_type, t.detail, t.erases
           ), told AS (
             INSERT INTO notify.timeline_entry (bucket, notification_id, id, at, entry_type, detail)
             SELECT $1::smallint, notification_id, entry_id, $7::timestamptz, entry_type, detail::json
               FROM gone WHERE entry_type IS NOT NULL
           ), erased AS (
             UPDATE notify.notification SET data = NULL
              WHERE bucket = $1::smallint AND id = ANY (ARRAY(SELECT notification_id FROM gone WHERE erases)) AND sensitive
           ) SELECT count(*) = $8::integer FROM taken`,
    values: [
      bucket,
      ...columns(
        windows,
        ({ id }) => id,
        ({ eventId }) => eventId,
        ({ timelineEntry: told }) => told?.what,
        ({ timelineEntry: told }) => (told ? JSON.stringify(told.detail) : null),
        ({ erases = false }) => erases,
      ),
      timestamp(now),
      windows.length,
    ],
  }
}

/**
 * Takes items out of closed windows; a window that holds no more goes with them, any other is free to be taken up again.
 * Holds if all of the items were there.
 */
export function removeItems(
  bucket: number,
  parts: ReadonlyArray<{ readonly id: string; readonly items: readonly string[]; readonly keepsTogether?: boolean }>,
): Statement[] {
  const ids = parts.map(({ id }) => id)
  const items = parts.flatMap((part) => part.items)
  return [
    {
      precondition: true,
      text: `WITH locked AS MATERIALIZED (
               SELECT id FROM notify.pending_window
                WHERE bucket = $1::smallint AND ${among('id', '$2')} AND state = 'closed' ORDER BY id FOR UPDATE
             ) SELECT count(*) = $3::integer FROM locked`,
      values: [bucket, ids, ids.length],
    },
    {
      precondition: true,
      text: `WITH gone AS (
               DELETE FROM notify.pending_item
                WHERE bucket = $1::smallint AND ${among('window_id', '$2')} AND ${among('notification_id', '$3')}
               RETURNING 1
             ) SELECT count(*) = $4::integer FROM gone`,
      values: [bucket, ids, items, items.length],
    },
    {
      text: `DELETE FROM notify.pending_window w WHERE w.bucket = $1::smallint AND ${among('w.id', '$2')}
                AND NOT EXISTS (SELECT FROM notify.pending_item i WHERE i.bucket = $1::smallint AND i.window_id = w.id)`,
      values: [bucket, ids],
    },
    {
      text: `UPDATE notify.pending_window SET individual = individual OR id <> ALL ($3::uuid[]), lease_until = NULL
              WHERE bucket = $1::smallint AND ${among('id', '$2')}`,
      values: [bucket, ids, parts.flatMap(({ id, keepsTogether }) => (keepsTogether ? [id] : []))],
    },
  ]
}

interface ItemCountRow {
  readonly id: string
  readonly items: number
}

/** How many items each of those windows holds that are closed, of the items given. */
export function countItemsQuery(
  bucket: number,
  parts: ReadonlyArray<{ readonly id: string; readonly items?: readonly string[] }>,
): Query {
  return {
    name: 'notify_held_items',
    text: `SELECT w.id, (SELECT count(*) FROM notify.pending_item i
                          WHERE i.bucket = $1 AND i.window_id = w.id AND ${among('i.notification_id', '$3')}) AS items
             FROM notify.pending_window w WHERE w.bucket = $1 AND ${among('w.id', '$2')} AND w.state = 'closed'`,
    values: [bucket, parts.map(({ id }) => id), parts.flatMap(({ items = [] }) => items)],
  }
}

/** The windows whose items, as given, are all there; those of the others were taken by another. */
export function findCompleteWindows(
  parts: ReadonlyArray<{ readonly id: string; readonly items?: readonly string[] }>,
  rows: readonly ItemCountRow[],
): string[] {
  const counts = new Map(rows.map(({ id, items }) => [id, items]))
  return parts.flatMap(({ id, items }) => {
    const held = counts.get(id)
    if (held === undefined || items === undefined) return held === undefined ? [] : [id]
    if (held > 0 && held < items.length) throw new Error('a part of what is flushed together was flushed by another')
    return held === items.length ? [id] : []
  })
}
