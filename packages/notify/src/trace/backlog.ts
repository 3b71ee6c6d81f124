import { type Clock, createPage, defaultPageSize, instantOf, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit } from '../context/audit.ts'
import { priorities } from '../model/notification/priority.ts'
import type { SearchSlots } from '../request/search-slots.ts'
import type { Backlog, Parked, PendingEntry } from '../store/store.ts'
import type { ParkedParams, ParkedRelease, PendingParams, PendingQuery } from './schemas/backlog.ts'

/** What the endpoints of what waits need. */
export interface BacklogContext {
  readonly audit: Audit
  readonly backlog: Backlog
  readonly parked: Parked
  readonly slots: SearchSlots
  readonly clock: Clock
  /** Called with what is due, and when (Unix milliseconds). */
  readonly onScheduled: (id: string, dueAt: number) => void
  /** Called with the buckets in which something is due. */
  readonly onReleased: (buckets: readonly number[]) => void
}

/** GET /v1/pending: what is deferred or gathered, the soonest first; of what is parked how much, by event type. */
export function listPending({ backlog, slots }: BacklogContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof PendingQuery> }>) => {
    const { kind, event, cursor, limit = defaultPageSize } = request.query
    if (kind === 'parked') {
      const parked = await slots.run(() => backlog.listParked())
      return {
        items: parked
          .filter((each) => event === undefined || each.event === event)
          .map(({ event, items }) => ({ kind, event, items, reason_code: 'event_rate' })),
      } as never
    }
    const filter = { kind: kind as 'deferred' | 'aggregating', ...(event === undefined ? {} : { event }) }
    const found = await slots.run(() => backlog.list(filter, parseCursor(cursor), limit))
    const { items, next } = createPage(
      found,
      request.query,
      ({ dueAt, id }) => `${new Date(dueAt).toISOString()}_${id}`,
    )
    return { items: items.map((each) => formatPending(kind, each)), ...(next === undefined ? {} : { next }) } as never
  }
}

/** POST /v1/pending/{id}/release: makes it due now. What quiet hours defer stays: they are the user's to change. */
export function releasePending({ audit, backlog, clock, onScheduled }: BacklogContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof PendingParams> }>) => {
    const { id } = request.params
    const found = await backlog.find(id)
    if (!found) throw notFound(id)
    const { userId: user_id, event, reason } = found
    await audit(request, {
      action: 'pending.release',
      target: { type: 'pending', id },
      before: { user_id, event, reason },
    })
    const now = clock.now()
    const result = await backlog.release(id, now)
    if (result === 'gone') throw notFound(id)
    if (result === 'quiet') throw new Problem(409, `${id} waits for the end of its user's quiet hours.`)
    onScheduled(id, now)
    return { released: true }
  }
}

/** POST /v1/parked/{event}/release: lets parked events follow now, the oldest of each bucket first, past their rate. */
export function releaseParked({ audit, backlog, parked, slots, clock, onReleased }: BacklogContext) {
  return async (
    request: FastifyRequest<{ Params: Static<typeof ParkedParams>; Body: Static<typeof ParkedRelease> }>,
  ) => {
    const { event } = request.params
    const { limit = defaultRelease } = request.body
    const found = await slots.run(() => backlog.listParked())
    const waiting = found.find((each) => each.event === event)
    if (!waiting) throw new Problem(404, `No event of the type ${event} is parked.`)
    await audit(request, { action: 'parked.release', target: { type: 'event-type', id: event }, after: { limit } })
    const released: number[] = []
    let count = 0
    for (const bucket of waiting.buckets) {
      if (count >= limit) break
      const more = await parked.release(bucket, { event, rate: undefined }, limit - count, clock.now())
      count += more
      if (more > 0) released.push(bucket)
    }
    onReleased(released)
    return { released: count }
  }
}

const defaultRelease = 1_000

/** GET /v1/queue: how many deliveries are due and under way, by channel and priority. */
export function getQueue({ backlog, slots, clock }: BacklogContext) {
  return async () => {
    const { depths, isComplete } = await slots.run(() => backlog.queue(clock.now()))
    return {
      items: depths.map(({ priority, oldestDueAt, ...depth }) => ({
        ...depth,
        priority: priorities[priority] ?? 'normal',
        ...(oldestDueAt === undefined ? {} : { oldest_due_at: new Date(oldestDueAt).toISOString() }),
      })),
      complete: isComplete,
    }
  }
}

function notFound(id: string): Problem {
  return new Problem(404, `Nothing waits as ${id}; it may be on its way.`)
}

function parseCursor(cursor: string | undefined): Pick<PendingEntry, 'dueAt' | 'id'> | undefined {
  const [dueAt = '', id] = cursor?.split('_') ?? []
  return id === undefined ? undefined : { dueAt: instantOf(dueAt, '/cursor'), id }
}

function formatPending(kind: string, { userId, isUnderWay, notificationId, dueAt, reason, ...entry }: PendingEntry) {
  return {
    kind,
    ...entry,
    user_id: userId,
    ...(notificationId === undefined ? {} : { notification_id: notificationId }),
    due_at: new Date(dueAt).toISOString(),
    reason_code: reason,
    under_way: isUnderWay,
  }
}
