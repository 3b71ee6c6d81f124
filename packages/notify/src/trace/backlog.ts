import { type Clock, createPage, defaultPageSize, instantOf, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit } from '../context/audit.ts'
import { priorities } from '../model/priority.ts'
import type { Backlog, PendingEntry } from '../store/store.ts'
import type { PendingParams, PendingQuery } from './schemas/backlog.ts'

/** What the endpoints of what waits need. */
export interface BacklogContext {
  readonly audit: Audit
  readonly backlog: Backlog
  readonly clock: Clock
  /** Called with what is due, and when (Unix milliseconds). */
  readonly onScheduled: (id: string, dueAt: number) => void
}

/** GET /v1/pending: what is deferred or gathered, the soonest first; of what is parked how much, by event type. */
export function listPending({ backlog }: BacklogContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof PendingQuery> }>) => {
    const { kind, cursor, limit = defaultPageSize } = request.query
    if (kind === 'parked') {
      const parked = await backlog.listParked()
      return { items: parked.map((each) => ({ kind, ...each, reason_code: 'event_rate' })) } as never
    }
    const found = await backlog.list(kind as 'deferred' | 'aggregating', parseCursor(cursor), limit)
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

/** GET /v1/queue: how many deliveries are due and under way, by channel and priority. */
export function getQueue({ backlog, clock }: BacklogContext) {
  return async () => {
    const { depths, isComplete } = await backlog.queue(clock.now())
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

function formatPending(kind: string, { userId, notificationId, dueAt, reason, ...entry }: PendingEntry) {
  return {
    kind,
    ...entry,
    user_id: userId,
    ...(notificationId === undefined ? {} : { notification_id: notificationId }),
    due_at: new Date(dueAt).toISOString(),
    reason_code: reason,
  }
}
