import { type Clock, createPage, defaultPageSize, instantOf, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type Catalog, type CatalogKeeper, isSecret } from '../catalog/catalog.ts'
import type { Audit } from '../context/audit.ts'
import type { Channel } from '../model/channel.ts'
import { newId } from '../model/id.ts'
import { hidden, maskLetterDetail, maskTimeline } from '../model/masking.ts'
import type { AccessControl } from '../request/caller.ts'
import type { SearchSlots } from '../request/search-slots.ts'
import type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGrouping,
  DeadLetters,
  LetterTrend,
  Notifications,
} from '../store/store.ts'
import type * as schemas from './schemas/dead-letters.ts'

/** What the endpoints of dead letters need. */
export interface DeadLetterContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: DeadLetters
  readonly notifications: Notifications
  readonly catalog: CatalogKeeper
  readonly slots: SearchSlots
  readonly clock: Clock
  /** Called after a replay, so that the workers need not wait for their next poll. */
  readonly onReplayed: () => void
}

/** How many letters are changed at once where the request does not say. */
const defaultSelection = 1_000

type DeadLetterRequest = FastifyRequest<{ Params: Static<typeof schemas.DeadLetterParams> }>

/** GET /v1/dead-letters: the newest first, by filters. */
export function listDeadLetters({ access, store, slots }: DeadLetterContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof schemas.DeadLetterQuery> }>) => {
    const { limit = defaultPageSize, cursor, ...filters } = request.query
    const letters = await slots.run(() => store.list(parseFilter(filters), limit, cursor))
    const visible = letters.map((letter) =>
      formatDeadLetter(access.masks(request, letter.userId) ? maskDeadLetter(letter) : letter),
    )
    return createPage(visible, request.query, ({ id }) => id)
  }
}

/** GET /v1/dead-letters/{id}: one, with the timeline of its notification. */
export function getDeadLetter({ access, store, notifications, catalog }: DeadLetterContext) {
  return async (request: DeadLetterRequest) => {
    const { id } = request.params
    const found = await store.find(id)
    if (!found) throw notFound(id)
    const letter = withoutSecret(found, await catalog.current())
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

/** GET /v1/dead-letters/summary: how many there are of each kind. */
export function summarizeDeadLetters({ access, store, slots, clock }: DeadLetterContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof schemas.SummaryQuery> }>) => {
    const { group_by: groupBy, ...filters } = request.query
    const filter = parseFilter(filters)
    const trend = trendOf(filter, clock.now())
    const { groups, total, isComplete } = await slots.run(() =>
      store.summarize(groupBy as DeadLetterGrouping, filter, trend),
    )
    const masked = access.masks(request)
    const span = { from: new Date(trend.from).toISOString(), to: new Date(trend.to).toISOString() }
    return { groups: groups.map((group) => formatGroup(group, masked)), trend: span, total, complete: isComplete }
  }
}

/** POST /v1/dead-letters/replay: those that the selection matches, at once, at a time or at a rate. */
export function replayDeadLetters({ access, audit, store, slots, clock, onReplayed }: DeadLetterContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof schemas.ReplaySelection> }>) => {
    const { body } = request
    if (!body.dry_run) access.refuseOldSignIn(request)
    const now = clock.now()
    const at = body.at === undefined ? now : instantOf(body.at, '/at')
    const [filter, limit] = [parseFilter(body), body.limit ?? defaultSelection]
    refuseSlowRate(at, Math.min(limit, body.ids?.length ?? limit), body.rate_per_second)
    if (body.dry_run) {
      const { matched, expired } = await slots.run(() => store.count(filter, limit, at))
      return { matched, replayed: 0, ...(expired > 0 ? { expired } : {}) }
    }
    const batchId = newId(0)
    const after = { ...body, batch_id: batchId }
    await audit(request, { action: 'dead-letters.replay', target: selectionTarget, after })
    const pace = { batchId, perSecond: body.rate_per_second, now }
    const { replayed, expired } = await slots.run(() => store.replay(filter, limit, at, pace))
    onReplayed()
    return { replayed, ...(expired > 0 ? { expired } : {}), ...(replayed > 0 ? { batch_id: batchId } : {}) }
  }
}

/** The longest time from the first letter of a replay to the last: 30 days. */
const maxReplayMs = 30 * 86_400_000
/** What a timestamp may be at most: 9999-12-31. */
const endOfTime = 253_402_214_400_000

/** @throws Problem 400 when the last letter would be due too late, or at no time */
function refuseSlowRate(at: number, limit: number, perSecond: number | undefined): void {
  const durationMs = perSecond === undefined ? 0 : (limit * 1_000) / perSecond
  if (durationMs <= maxReplayMs && (durationMs === 0 || at + durationMs <= endOfTime)) return
  const detail = `must be so high that the last of ${limit} is due within 30 days of the first, before the year 10000`
  throw new Problem(400, `/rate_per_second ${detail}.`, { errors: [{ pointer: '/rate_per_second', detail }] })
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
export function discardDeadLetters({ audit, store, slots }: DeadLetterContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof schemas.Selection> }>) => {
    const { body } = request
    const [filter, limit] = [parseFilter(body), body.limit ?? defaultSelection]
    if (body.dry_run) {
      const { matched } = await slots.run(() => store.count(filter, limit))
      return { matched, discarded: 0 }
    }
    await audit(request, { action: 'dead-letters.discard', target: selectionTarget, after: body })
    return { discarded: await slots.run(() => store.discard(filter, limit)) }
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

/**
 * Without its text where that is of a sensitive event type, or one that is not there. A text that no type could be read
 * from may be of any that producers send: it is shown, for whoever looks for its fault, only where none is sensitive.
 */
function withoutSecret(letter: DeadLetter, catalog: Catalog): DeadLetter {
  const { text, ...rest } = letter
  if (text === undefined) return letter
  const { event: named } = letter
  const anySensitive = () =>
    catalog.eventTypes.values().some(({ event, sensitive }) => sensitive && !catalog.isReserved(event))
  return (named === undefined ? anySensitive() : isSecret(catalog, named)) ? rest : letter
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

type Filters = Omit<Static<typeof schemas.Selection>, 'limit' | 'dry_run'>

function parseFilter({
  cause,
  channel,
  event,
  user_id,
  ids,
  provider,
  fingerprint,
  from,
  to,
}: Filters): DeadLetterFilter {
  return {
    ...(cause === undefined ? {} : { cause }),
    ...(channel === undefined ? {} : { channel: channel as Channel }),
    ...(event === undefined ? {} : { event }),
    ...(user_id === undefined ? {} : { userId: user_id }),
    ...(ids === undefined ? {} : { ids }),
    ...(provider === undefined ? {} : { provider }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(from === undefined ? {} : { from: instantOf(from, '/from') }),
    ...(to === undefined ? {} : { to: instantOf(to, '/to') }),
  }
}

const dayMs = 86_400_000

/** The time of the filter, or the last 24 hours; never empty. */
function trendOf({ from, to }: DeadLetterFilter, now: number): LetterTrend {
  const end = to ?? now + 1
  return { from: Math.min(from ?? end - dayMs, end - 1), to: end }
}

function formatGroup({ firstAt, lastAt, sample, trend, ...group }: DeadLetterGroup, masked: boolean) {
  const detail = masked ? maskLetterDetail(sample.cause, sample.detail) : sample.detail
  return {
    ...group,
    trend: [...trend],
    first_at: new Date(firstAt).toISOString(),
    last_at: new Date(lastAt).toISOString(),
    sample: { ...sample, detail },
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
