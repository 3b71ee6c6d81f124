import { type Clock, defaultPageSize, instantOf } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Channel } from '../model/channel.ts'
import type { NotificationFilter } from '../model/notification/notification-filter.ts'
import { type AccessControl, otherUserProblem } from '../request/caller.ts'
import type { SearchSlots } from '../request/search-slots.ts'
import type { NotificationSummary, Search, SearchBounds, SearchPage } from '../store/store.ts'
import type { NotificationQuery } from './schemas/notifications.ts'

/**
 * How far a search goes back for one page: so far that a person does not wait, however slow the database is at the time. Who
 * wants more goes on from there.
 */
export const searchBounds: SearchBounds = { maxRows: 50_000, maxMs: 200 }

/** What searches need. */
export interface SearchContext {
  readonly access: AccessControl
  readonly search: Search
  readonly slots: SearchSlots
  readonly clock: Clock
}

/** GET /v1/notifications: the newest first, by filters; those of everybody for readers of deliveries alone. */
export function listNotifications({ access, search, slots, clock }: SearchContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof NotificationQuery> }>) => {
    const { cursor, limit = defaultPageSize, ...query } = request.query
    const { user_id: userId, dedup_key: dedupKey } = query
    if (userId === undefined) access.refuseWithout(request, 'readDelivery')
    else if (!access.canSee(request, userId)) throw otherUserProblem()
    if (dedupKey !== undefined) access.refuseGuesses(request, userId)
    const filter = parseFilter(query)
    const bounds = { ...searchBounds, limit, ...(cursor === undefined ? {} : { before: cursor }) }
    const page = await slots.run(() => search.notifications(filter, bounds))
    return formatSearch(page, formatSummary, filter.from ?? filter.to ?? clock.now())
  }
}

/** A page of a bounded search. `end` (Unix milliseconds) is how far it looked where nothing says more. */
export function formatSearch<Item, Shown>(
  { items, next, searchedUntil = Number.POSITIVE_INFINITY }: SearchPage<Item>,
  format: (item: Item) => Shown,
  end: number,
) {
  const until = Math.min(searchedUntil, next === undefined ? end : searchedUntil)
  return {
    items: items.map(format),
    ...(next === undefined ? {} : { next }),
    searched_until: new Date(until).toISOString(),
    complete: next === undefined,
  }
}

function formatSummary({ id, acceptedAt, event, userId, priority, deliveries }: NotificationSummary) {
  return {
    id,
    accepted_at: new Date(acceptedAt).toISOString(),
    event,
    user_id: userId,
    priority,
    deliveries: [...deliveries],
  }
}

type Filters = Omit<Static<typeof NotificationQuery>, 'cursor' | 'limit'>

function parseFilter({ user_id, dedup_key, from, to, channel, ...same }: Filters): NotificationFilter {
  return {
    ...same,
    ...(channel === undefined ? {} : { channel: channel as Channel }),
    ...(user_id === undefined ? {} : { userId: user_id }),
    ...(dedup_key === undefined ? {} : { dedupKey: dedup_key }),
    ...(from === undefined ? {} : { from: instantOf(from, '/from') }),
    ...(to === undefined ? {} : { to: instantOf(to, '/to') }),
  }
}
