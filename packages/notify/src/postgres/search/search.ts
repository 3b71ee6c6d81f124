import type { Database } from '@gatehouse/kit'
import { bucketOfUser, createdAtOf, firstIdAt } from '../../model/id.ts'
import { hasMatchingDelivery, type NotificationFilter } from '../../model/notification/notification-filter.ts'
import type { Search, SearchPage, SearchRequest } from '../../store/store.ts'
import type { Buckets } from '../sql/buckets.ts'
import { queryByIndex } from '../sql/index-plans.ts'
import {
  comparedColumns,
  comparedOfDelivery,
  comparesDeliveries,
  conditionsOn,
  conditionsOnDelivery,
  conditionsOnMessage,
} from './conditions.ts'
import { createLook, firstOfConditions, ofNotifications } from './looks.ts'
import { readSummaries } from './summaries.ts'
import { type Look, type Step, walkBack } from './walk.ts'

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const firstId = '00000000-0000-0000-0000-000000000000'
/** A search that compares something looks at so many rows first, however few are wanted. */
const firstRowsOfFilter = 500
/** The notifications of a user are found by an index that has no order; of more than this many they are walked to. */
const maxOfUser = 10_000
/** At least so many are read whole at once, that not each of those that an outcome rules out costs a round trip. */
const minReadAtOnce = 50

/** Searches on PostgreSQL. */
export function postgresSearch(database: Database, buckets: Buckets): Search {
  return {
    async notifications(filter, request) {
      const steps = await notificationSteps(database, buckets, filter, request)
      return collect(steps, request, async (ids) =>
        (await readSummaries(database, buckets, ids)).filter((each) => hasMatchingDelivery(each.deliveries, filter)),
      )
    },
    async deliveries(message, request) {
      const conditions = conditionsOnMessage(message, firstOfConditions)
      const table = { name: 'delivery', columns: 'n.bucket, n.id, n.provider, n.provider_message_id' } as const
      const look = createLook(database, buckets, table, { since: firstId, conditions })
      const steps = walkBack({
        ...request,
        ...rangeOf({}, request),
        buckets: allOf(buckets),
        firstRows: firstRowsOfFilter,
        look,
      })
      const page = await collect(steps, request, async (ids) => ids.map((id) => ({ id })))
      return { ...page, items: page.items.map(({ id }) => id) }
    },
  }
}

/** By the index of users where that finds few; else a walk through all buckets, or that of the user. */
async function notificationSteps(
  database: Database,
  buckets: Buckets,
  filter: NotificationFilter,
  request: SearchRequest,
): Promise<AsyncIterable<Step>> {
  const range = rangeOf(filter, request)
  const { userId, event, priority, dedupKey, channel, state, outcome, provider } = filter
  if (userId !== undefined && (await hasFew(database, buckets, userId)))
    return stepOfUser(database, buckets, filter, range)
  const isFiltered = [userId, event, priority, dedupKey, channel, state, outcome, provider].some(
    (each) => each !== undefined,
  )
  return walkBack({
    ...request,
    before: range.before,
    buckets: userId === undefined ? allOf(buckets) : [bucketOfUser(userId, buckets.count)],
    firstRows: isFiltered ? Math.max(firstRowsOfFilter, request.limit + 1) : request.limit + 1,
    look: lookFor(database, buckets, filter, range),
  })
}

/** Through the deliveries where their rows decide, in one scan; else through the notifications. */
function lookFor(database: Database, buckets: Buckets, filter: NotificationFilter, { since }: Range): Look {
  if (comparesDeliveries(filter)) {
    const conditions = conditionsOnDelivery(filter, firstOfConditions)
    const table = { name: 'delivery', columns: comparedOfDelivery } as const
    return ofNotifications(createLook(database, buckets, table, { since, conditions }))
  }
  const conditions = conditionsOn(filter, firstOfConditions)
  const table = { name: 'notification', columns: comparedColumns } as const
  return createLook(database, buckets, table, { since, conditions })
}

interface Range {
  readonly before: string
  readonly since: string
}

function rangeOf({ from, to }: Pick<NotificationFilter, 'from' | 'to'>, { before = lastId }: SearchRequest): Range {
  const end = to === undefined ? lastId : firstIdAt(to)
  return { before: before < end ? before : end, since: from === undefined ? firstId : firstIdAt(from) }
}

function allOf({ count }: Buckets): number[] {
  return Array.from({ length: count }, (_, bucket) => bucket)
}

async function hasFew(database: Database, { count, distributed }: Buckets, userId: string): Promise<boolean> {
  const bucket = bucketOfUser(userId, count)
  const { rows } = await queryByIndex<{ count: number }>(database, distributed ? { bucket } : {}, {
    text: `SELECT count(*)::integer AS count FROM (
             SELECT FROM notify.notification WHERE user_id = $1 AND bucket = $2::smallint LIMIT $3::integer) AS counted`,
    values: [userId, bucket, maxOfUser + 1],
  })
  return (rows[0]?.count ?? 0) <= maxOfUser
}

/** All that match, of a user who has few. */
async function* stepOfUser(
  database: Database,
  { count, distributed }: Buckets,
  filter: NotificationFilter,
  { before, since }: Range,
): AsyncGenerator<Step> {
  const bucket = bucketOfUser(filter.userId ?? '', count)
  const conditions = conditionsOn(filter, 4)
  const { rows } = await queryByIndex<{ id: string }>(database, distributed ? { bucket } : {}, {
    text: `WITH looked AS MATERIALIZED (
             SELECT ${comparedColumns} FROM notify.notification n
              WHERE n.user_id = $4::text AND n.bucket = $1::smallint AND n.id < $2::uuid AND n.id >= $3::uuid)
           SELECT n.id FROM looked n WHERE ${conditions.text} ORDER BY n.id DESC`,
    values: [bucket, before, since, ...conditions.values],
  })
  yield { ids: rows.map(({ id }) => id), through: undefined }
}

/** Takes what a walk comes to, until there is a page of it or its time is over. */
async function collect<Item extends { readonly id: string }>(
  steps: AsyncIterable<Step>,
  { limit, maxMs }: SearchRequest,
  read: (ids: readonly string[]) => Promise<readonly Item[]>,
): Promise<SearchPage<Item>> {
  const begunAt = performance.now()
  const size = Math.max(minReadAtOnce, limit + 1)
  const items: Item[] = []
  let next: string | undefined
  let oldest: string | undefined
  for await (const { ids, through } of steps) {
    for (let n = 0; n < ids.length; n += size) {
      items.push(...(await read(ids.slice(n, n + size))))
      const last = items.length > limit ? items[limit - 1]?.id : ids[n + size - 1]
      if (items.length > limit || (n + size < ids.length && performance.now() - begunAt >= maxMs))
        return pageOf(items.slice(0, limit), last, last)
    }
    next = through
    oldest = through ?? ids.at(-1) ?? oldest
  }
  return pageOf(items, next, oldest)
}

function pageOf<Item>(items: readonly Item[], next: string | undefined, oldest: string | undefined): SearchPage<Item> {
  return { items, next, searchedUntil: oldest === undefined ? undefined : createdAtOf(oldest) }
}
