import { changedKeys, type Database, type Notifier, type Query } from '@gatehouse/kit'
import { bucketOfUser } from '../../model/id.ts'
import type { Inbox, InboxFilter, InboxItem, InboxNews, InboxPage } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import { queries } from '../queries/index.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, type Buckets, bucketsOfUsers, groupByBucket, nameFor, textFor } from '../sql/buckets.ts'
import { columns, timestamp, withoutNulls } from '../sql/columns.ts'
import { inGroups } from '../sql/in-groups.ts'
import { byIndexes, customPlan } from '../sql/plans.ts'
import { changeInbox } from './inbox-change.ts'
import { type CountRow, countsOf, emptyInbox, inboxChannel, openInboxes } from './inbox-count.ts'

/** An item before it is put into an inbox. */
export type NewItem = Parameters<Inbox['put']>[0][number]

/** A user's counts, with one of their items or none. */
interface ItemRow extends CountRow {
  readonly user_id: string
  readonly id: string | null
  readonly event: string
  readonly subject: string | null
  readonly body: string
  readonly created_at: number
  readonly seen_at: number | null
  readonly read_at: number | null
  readonly archived_at: number | null
  readonly changed: number
}

const fields = 'i.id, i.event, i.subject, i.body, i.created_at, i.seen_at, i.read_at, i.archived_at, i.changed'
const counts = 'c.sequence, c.total, c.unseen, c.unread'

/** Inboxes on PostgreSQL. `notifier` is given the users whose inboxes changed. */
export function postgresInbox(database: Database, layout: Buckets, notifier: Notifier): Inbox {
  const { count: buckets } = layout
  const bucketOf = ({ userId }: { readonly userId: string }, count: number) => bucketOfUser(userId, count)
  return {
    async put(items) {
      const each = [...new Map(items.map((item) => [item.id, item])).values()]
      for (const { scope, items: mine } of groupByBucket(layout, each, bucketOf))
        await at(database, scope.bucket).pipeline([
          scope.bucket === undefined ? byIndexes : customPlan,
          ...putItems(scope, mine),
        ])
      notifier.publish(each.map(({ userId }) => userId))
    },
    page: (userId, filter) => readPage(database, bucketOfUser(userId, buckets), userId, filter),
    async change(userId, change, choice, now) {
      const bucket = bucketOfUser(userId, buckets)
      const done = await at(database, bucket).transaction((tx) =>
        changeInbox(tx, bucket, userId, { change, choice, now }),
      )
      if (done.changed.length > 0) notifier.publish([userId])
      return done
    },
    async news(requests, limit) {
      const groups = groupByBucket(layout, requests, bucketOf)
      const { results } = await inGroups(groups, ({ scope, items }) => readNews(database, scope, items, limit))
      return new Map(results.flatMap((news) => [...news]))
    },
    listen(changed, missed) {
      const onChange = (payload: string) => {
        const users = changedKeys(payload)
        if (users) for (const userId of users) changed(userId)
        else missed()
      }
      return database.listen(inboxChannel, { onNotification: onChange, onGap: missed })
    },
  }
}

async function readPage(database: Database, bucket: number, userId: string, filter: InboxFilter): Promise<InboxPage> {
  const { rows } = await at(database, bucket).query<ItemRow>({
    text: `SELECT ${counts}, i.* FROM (VALUES ($2::text)) AS u (user_id)
                 LEFT JOIN notify.inbox_count c ON c.bucket = $1 AND c.user_id = u.user_id
                 LEFT JOIN LATERAL (
                   SELECT i.position, ${fields} FROM notify.inbox i
                    WHERE i.bucket = $1 AND i.user_id = u.user_id AND ${filterSql(filter)}
                    ORDER BY i.position DESC LIMIT $4) AS i ON true
                ORDER BY i.position DESC`,
    values: [bucket, userId, filter.before ?? null, filter.limit],
  })
  return { counts: countsOf(rows[0] ?? emptyInbox), items: rows.flatMap((row) => itemOf(row) ?? []) }
}

function filterSql({ unread, archived }: InboxFilter): string {
  return [
    `($3::uuid IS NULL OR i.position < (SELECT b.position FROM notify.inbox b
        WHERE b.bucket = $1 AND b.user_id = $2 AND b.id = $3))`,
    ...(unread ? ['i.read_at IS NULL'] : []),
    ...(archived === 'also' ? [] : [`i.archived_at IS ${archived === 'only' ? 'NOT NULL' : 'NULL'}`]),
  ].join(' AND ')
}

/** The statements that put items into inboxes, none of them twice. */
export function putItems(scope: BucketScope, items: readonly NewItem[]): Array<Query & Statement> {
  if (items.length === 0) return []
  const users = items.map(({ userId }) => userId)
  return [
    openInboxes(scope, users),
    {
      name: nameFor(scope, 'notify_inbox_put'),
      text: textFor(scope, queries['inbox/put-items']),
      values: [
        bucketsOfUsers(scope, users),
        ...columns(
          items,
          (i) => i.userId,
          (i) => i.id,
          (i) => i.event,
          (i) => i.subject ?? null,
          (i) => i.body,
          (i) => timestamp(i.createdAt),
        ),
      ],
    },
  ]
}

async function readNews(
  database: Database,
  scope: BucketScope,
  requests: Parameters<Inbox['news']>[0],
  limit: number,
): Promise<Map<string, InboxNews>> {
  const { rows } = await at(database, scope.bucket).query<ItemRow>({
    name: nameFor(scope, 'notify_inbox_news'),
    text: textFor(
      scope,
      `SELECT a.user_id, ${counts}, i.*
           FROM unnest($1::smallint[], $2::text[], $3::bigint[]) AS a (bucket, user_id, after)
           LEFT JOIN LATERAL (
             SELECT ${counts} FROM notify.inbox_count c
              WHERE c.bucket = a.bucket AND c.user_id = a.user_id LIMIT 1) AS c ON true
           LEFT JOIN LATERAL (
             SELECT ${fields} FROM notify.inbox i
              WHERE i.bucket = a.bucket AND i.user_id = a.user_id AND i.changed > a.after
              ORDER BY i.changed LIMIT $4) AS i ON true
          ORDER BY a.user_id, i.changed`,
    ),
    values: [
      bucketsOfUsers(
        scope,
        requests.map(({ userId }) => userId),
      ),
      ...columns(
        requests,
        (a) => a.userId,
        (a) => a.after ?? null,
      ),
      limit,
    ],
  })
  const byUser = Map.groupBy(rows, ({ user_id: userId }) => userId)
  return new Map(
    [...byUser].map(([userId, mine]) => [
      userId,
      {
        counts: countsOf(mine[0] ?? emptyInbox),
        items: mine.flatMap((row) => {
          const item = itemOf(row)
          return item ? [{ ...item, changed: row.changed }] : []
        }),
      },
    ]),
  )
}

function itemOf(row: ItemRow): InboxItem | undefined {
  const {
    id,
    event,
    body,
    created_at: createdAt,
    subject,
    seen_at: seenAt,
    read_at: readAt,
    archived_at: archivedAt,
  } = row
  return id === null
    ? undefined
    : { id, event, body, createdAt, ...withoutNulls({ subject, seenAt, readAt, archivedAt }) }
}
