import { type Clock, createPage, defaultPageSize, instantOf, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit } from '../context/audit.ts'
import type { Channel } from '../model/channel.ts'
import { hidden, maskLetterDetail, maskTimeline } from '../model/masking.ts'
import type { AccessControl } from '../request/caller.ts'
import type { DeadLetter, DeadLetterFilter, DeadLetters, Notifications } from '../store/store.ts'
import type * as schemas from './schemas/dead-letters.ts'

/** What the endpoints of dead letters need. */
export interface DeadLetterContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: DeadLetters
  readonly notifications: Notifications
  readonly clock: Clock
  /** Called after a replay, so that the workers need not wait for their next poll. */
  readonly onReplayed: () => void
}

type DeadLetterRequest = FastifyRequest<{ Params: Static<typeof schemas.DeadLetterParams> }>

/** GET /v1/dead-letters: the newest first, by filters. */
export function listDeadLetters({ access, store }: DeadLetterContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof schemas.DeadLetterQuery> }>) => {
    const { limit = defaultPageSize, cursor, ...filters } = request.query
    const letters = await store.list(parseFilter(filters), limit, cursor)
    const visible = letters.map((letter) =>
      formatDeadLetter(access.masks(request, letter.userId) ? maskDeadLetter(letter) : letter),
    )
    return createPage(visible, request.query, ({ id }) => id)
  }
}

/** GET /v1/dead-letters/{id}: one, with the timeline of its notification. */
export function getDeadLetter({ access, store, notifications }: DeadLetterContext) {
  return async (request: DeadLetterRequest) => {
    const { id } = request.params
    const letter = await store.find(id)
    if (!letter) throw notFound(id)
    const notification = letter.notificationId && (await notifications.find(letter.notificationId))
    const timeline = notification ? notification.timeline : []
    const masks = access.masks(request, letter.userId)
    return {
      ...formatDeadLetter(masks ? maskDeadLetter(letter) : letter),
      timeline: (masks ? maskTimeline(timeline) : timeline).map((entry) => ({
        ...entry,
        at: new Date(entry.at).toISOString(),
      })),
    } as never
  }
}

/** POST /v1/dead-letters/replay: those that the selection matches, at once or at a time. */
export function replayDeadLetters({ audit, store, clock, onReplayed }: DeadLetterContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof schemas.ReplaySelection> }>) => {
    const { body } = request
    const at = body.at === undefined ? clock.now() : instantOf(body.at, '/at')
    await audit(request, { action: 'dead-letters.replay', target: selectionTarget, after: body })
    const { replayed, expired } = await store.replay(parseFilter(body), body.limit ?? 1_000, at)
    onReplayed()
    return { replayed, ...(expired > 0 ? { expired } : {}) }
  }
}

/** POST /v1/dead-letters/{id}/replay */
export function replayDeadLetter(context: DeadLetterContext) {
  return async (request: DeadLetterRequest) => {
    const { id } = request.params
    await auditDeadLetter(context, request, 'dead-letters.replay')
    const { replayed, expired } = await context.store.replay({ ids: [id] }, 1, context.clock.now())
    if (expired > 0) throw hasExpired(id)
    if (replayed === 0) throw notFound(id)
    context.onReplayed()
    return { replayed }
  }
}

/** POST /v1/dead-letters/discard: those that the selection matches. */
export function discardDeadLetters({ audit, store }: DeadLetterContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof schemas.Selection> }>) => {
    const { body } = request
    await audit(request, { action: 'dead-letters.discard', target: selectionTarget, after: body })
    return { discarded: await store.discard(parseFilter(body), body.limit ?? 1_000) }
  }
}

/** DELETE /v1/dead-letters/{id} */
export function discardDeadLetter(context: DeadLetterContext) {
  return async (request: DeadLetterRequest, reply: FastifyReply) => {
    const { id } = request.params
    await auditDeadLetter(context, request, 'dead-letters.discard')
    if ((await context.store.discard({ ids: [id] }, 1)) === 0) throw notFound(id)
    return reply.code(204).send(null)
  }
}

/** The target of a change that names its dead letters by filters. */
const selectionTarget = { type: 'dead-letters', id: 'selection' } as const

async function auditDeadLetter(
  { audit, store }: DeadLetterContext,
  request: DeadLetterRequest,
  action: string,
): Promise<void> {
  const { id } = request.params
  const letter = await store.find(id)
  if (!letter) throw notFound(id)
  const { userId: user_id, channel, event, cause } = letter
  await audit(request, { action, target: { type: 'dead-letter', id }, before: { user_id, channel, event, cause } })
}

/** Hides what a provider answered, what a template's fault quotes, and an invalid message. */
function maskDeadLetter(letter: DeadLetter): DeadLetter {
  const { cause, detail, text } = letter
  return { ...letter, detail: maskLetterDetail(cause, detail), ...(text === undefined ? {} : { text: hidden }) }
}

function notFound(id: string): Problem {
  return new Problem(404, `There is no dead letter ${id} that this can be done with.`)
}

function hasExpired(id: string): Problem {
  return new Problem(409, `The message of the dead letter ${id} has expired: it can be discarded, but not replayed.`)
}

function parseFilter({ cause, channel, event, user_id, ids }: Static<typeof schemas.Selection>): DeadLetterFilter {
  return {
    ...(cause === undefined ? {} : { cause }),
    ...(channel === undefined ? {} : { channel: channel as Channel }),
    ...(event === undefined ? {} : { event }),
    ...(user_id === undefined ? {} : { userId: user_id }),
    ...(ids === undefined ? {} : { ids }),
  }
}

function formatDeadLetter({ notificationId, userId, diedAt, expiresAt, ...letter }: DeadLetter) {
  return {
    ...letter,
    ...(notificationId === undefined ? {} : { notification_id: notificationId }),
    ...(userId === undefined ? {} : { user_id: userId }),
    died_at: new Date(diedAt).toISOString(),
    ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
  }
}
