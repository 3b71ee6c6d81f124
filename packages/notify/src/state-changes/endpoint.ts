import { type Clock, type Log, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { ChangeReaderRules } from '../config/options.ts'
import type { AccessControl, WatchCredential } from '../request/caller.ts'
import { beginStream } from '../request/event-stream.ts'
import type { ChangePage, StateChanges } from '../store/store.ts'
import { type Beginning, changeRecord, readPage } from './page.ts'
import type { ChangeReaders } from './readers.ts'
import { type ChangeHeaders, type ChangeQuery, cursorPattern, type Page } from './schema.ts'
import { sendChanges } from './stream.ts'

/** What the endpoint of state changes needs. */
export interface ChangeContext {
  readonly access: AccessControl
  readonly stateChanges: StateChanges
  readonly readers: ChangeReaders
  readonly rules: ChangeReaderRules
  readonly clock: Clock
  readonly watch: WatchCredential | undefined
  readonly log: Log
}

type ChangeRequest = FastifyRequest<{
  Querystring: Static<typeof ChangeQuery>
  Headers: Static<typeof ChangeHeaders>
}>

/** GET /v1/events: the state changes of all deliveries, in one order, for readers that resume. */
export function listChanges(context: ChangeContext) {
  return async (request: ChangeRequest, reply: FastifyReply) => {
    if (!context.rules.enabled) throw new Problem(404, 'Events are not kept here: `notify.events.enabled` is off.')
    const beginning = beginningOf(request.query, request.headers['last-event-id'])
    if (request.headers.accept?.includes('text/event-stream')) return openStream(context, request, reply, beginning)
    const waitMs = (request.query.wait ?? 0) * 1_000
    const page =
      waitMs === 0
        ? await readPage(context.stateChanges, beginning)
        : await waitFor(context, request, beginning, waitMs)
    return formatPage(page) as never
  }
}

function formatPage({ changes, through, last }: ChangePage): Static<typeof Page> {
  return { items: changes.map(changeRecord) as never, next: String(through), more: through < last }
}

function beginningOf(
  { cursor: after, limit, event, state, channel }: Static<typeof ChangeQuery>,
  lastEventId: string | undefined,
): Beginning {
  if (lastEventId !== undefined && lastEventId !== '' && !new RegExp(cursorPattern).test(lastEventId))
    throw new Problem(400, 'Last-Event-ID must be the id of an event of this stream.')
  const cursor = lastEventId || after
  return {
    after: cursor === undefined ? undefined : Number(cursor),
    limit: limit ?? 100,
    filter: {
      ...(event === undefined ? {} : { event }),
      ...(state === undefined ? {} : { state }),
      ...(channel === undefined ? {} : { channel }),
    },
  }
}

/**
 * Reads until there is something, for as long as the reader waits and stays.
 * @throws Problem 401 once the credential of the reader is no longer valid
 */
async function waitFor(
  { access, stateChanges, readers, watch }: ChangeContext,
  request: FastifyRequest,
  beginning: Beginning,
  waitMs: number,
): Promise<ChangePage> {
  const caller = access.callerOf(request)
  const leave = readers.enter(caller.subject)
  const gone = new AbortController()
  const onClose = () => gone.abort()
  request.raw.socket.once('close', onClose)
  const ended = new AbortController()
  const stopWatching = watch?.(request, caller, () => ended.abort())
  const signal = AbortSignal.any([gone.signal, ended.signal, AbortSignal.timeout(waitMs)])
  try {
    let page = await readPage(stateChanges, beginning)
    while (page.changes.length === 0) {
      if (page.through >= page.last && !(await readers.more(page.through, signal))) break
      if (signal.aborted) break
      page = await readPage(stateChanges, { ...beginning, after: page.through })
    }
    if (ended.signal.aborted) throw credentialEnded()
    return page
  } finally {
    request.raw.socket.off('close', onClose)
    stopWatching?.()
    leave()
  }
}

function credentialEnded(): Problem {
  const headers = { 'www-authenticate': 'Bearer error="invalid_token"' }
  return new Problem(401, 'The credential expired, or was revoked, while the request waited for events.', { headers })
}

async function openStream(
  { access, clock, watch, ...context }: ChangeContext,
  request: FastifyRequest,
  reply: FastifyReply,
  beginning: Beginning,
): Promise<void> {
  const caller = access.callerOf(request)
  const { subject, expiresAt } = caller
  const leave = context.readers.enter(subject)
  const ending = new AbortController()
  let stopWatching: (() => void) | undefined
  try {
    // An invalid cursor is answered before the stream begins.
    await readPage(context.stateChanges, { ...beginning, limit: 1 })
    const { raw } = reply
    reply.hijack()
    if (raw.destroyed) return
    beginStream(raw, reply.getHeaders(), request.id)
    stopWatching = watch?.(request, caller, () => ending.abort())
    const lifeMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - clock.now()
    await sendChanges({ ...context, response: raw, lifeMs }, beginning, ending)
  } finally {
    stopWatching?.()
    leave()
  }
}
