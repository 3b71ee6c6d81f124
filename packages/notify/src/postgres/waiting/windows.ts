import type { Database } from '@gatehouse/kit'
import type { SettledWindow } from '../../admission/planned.ts'
import type { Channel } from '../../model/channel.ts'
import type { Data } from '../../model/notification/notification.ts'
import type { ChosenBy, ClosedWindow, GatheredWindow, PendingItem, WindowSummary } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { queries } from '../queries/index.ts'
import type { ReadStatement, Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { columns, timestamp, withoutNulls } from '../sql/columns.ts'
import { among, customPlan } from '../sql/plans.ts'

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

/** How many windows are closed, and how long they are leased. Unix milliseconds. */
export interface WindowsClaim {
  readonly limit: number
  readonly leaseMs: number
  readonly now: number
}

/**
 * Closes the windows that are due, and reads them, in one round trip: who adds to one waits for its lock. Whatever a window
 * holds, what is answered of it is bounded: its first items, and a summary of the whole that the database counts.
 */
export async function closeWindows(
  database: Database,
  bucket: number,
  { limit, leaseMs, now }: WindowsClaim,
): Promise<ClosedWindow[]> {
  const [, closed, read, counted] = await at(database, bucket).pipeline<object>([
    customPlan,
    {
      name: 'notify_close_windows',
      text: queries['waiting/close-windows'],
      values: [bucket, limit, leaseMs, timestamp(now)],
    },
    { name: 'notify_first_items', text: queries['waiting/read-first-items'], values: [bucket] },
    { name: 'notify_summarize_windows', text: queries['waiting/summarize-windows'], values: [bucket] },
  ])
  const windows = (closed?.rows ?? []) as WindowRow[]
  const items = Map.groupBy((read?.rows ?? []) as ItemRow[], (row) => row.window_id)
  const summaries = new Map(((counted?.rows ?? []) as SummaryRow[]).map((row) => [row.id, summaryOf(row)]))
  return windows.map(({ id, user_id: userId, event }): ClosedWindow => {
    const summary = summaries.get(id)
    return { bucket, id, userId, event, items: (items.get(id) ?? []).map(itemOf), ...(summary ? { summary } : {}) }
  })
}

/** Names the open window of a user and event type for the statements that read it, as closing does; changes nothing. */
const nameOpenWindow = `
WITH open AS MATERIALIZED (
  SELECT id, flush_at FROM notify.pending_window
   WHERE bucket = $1 AND user_id = $2 AND event = $3 AND state = 'open'
), named AS MATERIALIZED (
  SELECT set_config('notify.closed', coalesce(array_agg(id)::text, ''), true),
         set_config('notify.summed', coalesce(array_agg(id)::text, ''), true) FROM open
)
SELECT o.flush_at FROM open o CROSS JOIN named`

/** What is gathered of an event type for a user, as it would be flushed now; undefined where no window is open. */
export async function readOpenWindow(
  database: Database,
  bucket: number,
  { userId, event }: { readonly userId: string; readonly event: string },
): Promise<GatheredWindow | undefined> {
  const [, open, read, counted] = await at(database, bucket).pipeline<object>([
    customPlan,
    { name: 'notify_name_open_window', text: nameOpenWindow, values: [bucket, userId, event] },
    { name: 'notify_first_items', text: queries['waiting/read-first-items'], values: [bucket] },
    { name: 'notify_summarize_windows', text: queries['waiting/summarize-windows'], values: [bucket] },
  ])
  const [window] = (open?.rows ?? []) as { flush_at: number }[]
  const [summary] = (counted?.rows ?? []) as SummaryRow[]
  if (!window || !summary) return undefined
  const items = ((read?.rows ?? []) as ItemRow[]).map(itemOf)
  return { flushAt: window.flush_at, items, summary: summaryOf(summary) }
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
 * the items, however many they are. `entryId` is the id of that entry, one for each window. Holds if all were there.
 */
export function removeWindows(
  scope: BucketScope,
  windows: ReadonlyArray<Omit<SettledWindow, 'items'> & { readonly entryId: string }>,
  now: number,
): Statement {
  return {
    precondition: true,
    text: textFor(scope, queries['waiting/remove-windows']),
    values: [
      bucketsOfIds(scope, windows, ({ id }) => id),
      ...columns(
        windows,
        ({ id }) => id,
        ({ entryId }) => entryId,
        ({ timelineEntry: entry }) => entry?.what,
        ({ timelineEntry: entry }) => (entry ? JSON.stringify(entry.detail) : null),
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
  scope: BucketScope,
  parts: ReadonlyArray<{ readonly id: string; readonly items: readonly string[]; readonly keepsTogether?: boolean }>,
): Statement[] {
  const ids = parts.map(({ id }) => id)
  const buckets = bucketsOfIds(scope, ids, (id) => id)
  const items = parts.flatMap((part) => part.items.map((item) => ({ window: part.id, item })))
  const keeping = parts.map(({ keepsTogether = false }) => keepsTogether)
  return [
    { precondition: true, text: textFor(scope, lockWindows), values: [buckets, ids, ids.length] },
    {
      precondition: true,
      text: textFor(scope, deleteItems),
      values: [
        bucketsOfIds(scope, items, ({ window }) => window),
        ...columns(
          items,
          ({ window }) => window,
          ({ item }) => item,
        ),
        items.length,
      ],
    },
    { text: textFor(scope, deleteEmptyWindows), values: [buckets, ids] },
    { text: textFor(scope, releaseWindows), values: [buckets, ids, keeping] },
  ]
}

/** In the order of their ids. */
const lockWindows = `WITH locked AS MATERIALIZED (
  SELECT w.id FROM unnest($1::smallint[], $2::uuid[]) AS k (bucket, id)
   CROSS JOIN LATERAL (
     SELECT p.id FROM notify.pending_window p
      WHERE p.bucket = k.bucket AND p.id = k.id AND p.state = 'closed' LIMIT 1 FOR UPDATE) AS w
) SELECT count(*) = $3::integer FROM locked`

const deleteItems = `WITH gone AS (
  DELETE FROM notify.pending_item i
   USING unnest($1::smallint[], $2::uuid[], $3::uuid[]) AS k (bucket, window_id, id)
   WHERE i.bucket = k.bucket AND i.window_id = k.window_id AND i.notification_id = k.id RETURNING 1
) SELECT count(*) = $4::integer FROM gone`

const deleteEmptyWindows = `DELETE FROM notify.pending_window w USING unnest($1::smallint[], $2::uuid[]) AS k (bucket, id)
  WHERE w.bucket = k.bucket AND w.id = k.id
    AND NOT EXISTS (SELECT FROM notify.pending_item i WHERE i.bucket = w.bucket AND i.window_id = w.id)`

const releaseWindows = `UPDATE notify.pending_window w SET individual = w.individual OR NOT k.keeps_together, lease_until = NULL
   FROM unnest($1::smallint[], $2::uuid[], $3::boolean[]) AS k (bucket, id, keeps_together)
  WHERE w.bucket = k.bucket AND w.id = k.id`

interface ItemCountRow {
  readonly id: string
  readonly items: number
}

/** How many items each of those windows holds that are closed, of the items given. */
export function countItemsQuery(
  scope: BucketScope,
  parts: ReadonlyArray<{ readonly id: string; readonly items?: readonly string[] }>,
): ReadStatement {
  return {
    text: textFor(
      scope,
      `SELECT w.id, (SELECT count(*) FROM notify.pending_item i
                      WHERE i.bucket = k.bucket AND i.window_id = w.id AND ${among('i.notification_id', '$3')}) AS items
         FROM unnest($1::smallint[], $2::uuid[]) AS k (bucket, id)
        CROSS JOIN LATERAL (
          SELECT p.id FROM notify.pending_window p
           WHERE p.bucket = k.bucket AND p.id = k.id AND p.state = 'closed' LIMIT 1) AS w`,
    ),
    values: [
      bucketsOfIds(scope, parts, ({ id }) => id),
      parts.map(({ id }) => id),
      parts.flatMap(({ items = [] }) => items),
    ],
  }
}

/** The windows whose items, as given, are all there; those of the others were taken by another. */
export function findCompleteWindows(
  parts: ReadonlyArray<{ readonly id: string; readonly items?: readonly string[] }>,
  rows: readonly ItemCountRow[],
): string[] {
  const counts = new Map(rows.map(({ id, items }) => [id, items]))
  return parts.flatMap(({ id, items }) => {
    const count = counts.get(id)
    if (count === undefined || items === undefined) return count === undefined ? [] : [id]
    if (count > 0 && count < items.length) throw new Error('a part of what is flushed together was flushed by another')
    return count === items.length ? [id] : []
  })
}
