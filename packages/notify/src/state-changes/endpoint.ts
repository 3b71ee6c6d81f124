import { type Clock, type Http, type Log, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { ChangeReaderRules } from '../config/options.ts'
import { channels } from '../model/channel.ts'
import { deliveryStates } from '../model/delivery-state.ts'
import type { AccessControl, WatchCredential } from '../request/caller.ts'
import { operation } from '../request/operations.ts'
import type { ChangePage, StateChanges } from '../store/store.ts'
import { type Beginning, ChangeRecord, changeRecord, readPage } from './page.ts'
import type { ChangeReaders } from './readers.ts'
import { beginStream, sendChanges } from './stream.ts'

export interface ChangeRoutes {
  readonly access: AccessControl
  readonly stateChanges: StateChanges
  readonly readers: ChangeReaders
  readonly rules: ChangeReaderRules
  readonly clock: Clock
  readonly watch: WatchCredential | undefined
  readonly log: Log
}

const cursorPattern = '^[0-9]{1,15}$'
const maxWaitSeconds = 30

const Query = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        pattern: cursorPattern,
        description: 'The `next` of the previous page. Left out: the oldest event there is.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000, default: 100, description: 'The most events of a page.' }),
    ),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxWaitSeconds,
        default: 0,
        description: 'Seconds to wait for an event when there is none.',
      }),
    ),
    event: Type.Optional(Type.String({ maxLength: 200, description: 'Only those of this event type.' })),
    state: Type.Optional(Type.Enum([...deliveryStates], { description: 'Only changes to this state.' })),
    channel: Type.Optional(Type.Enum([...channels], { description: 'Only those of this channel.' })),
  },
  { additionalProperties: false },
)

const Page = Type.Object({
  events: Type.Array(ChangeRecord),
  next: Type.String({ description: 'The cursor to read on with, whether there were events or not.' }),
  more: Type.Boolean({ description: 'Whether there is more to read at once.' }),
})

const response = {
  200: {
    description: 'A page, or with `Accept: text/event-stream` server-sent events until the token ends.',
    content: { 'application/json': { schema: Page }, 'text/event-stream': { schema: Type.String() } },
  },
}

/** GET /v1/events: the changes of state of all deliveries, in one order, for readers that resume. */
export function changesEndpoint(http: Http, routes: ChangeRoutes): void {
  const { access, readers, rules } = routes
  http.addHook('preClose', () => readers.close())
  http.get(
    '/v1/events',
    {
      exposeHeadRoute: false,
      onRequest: access.allow('readEvents'),
      schema: {
        tags: ['events'],
        ...operation('events.list'),
        security: access.security('readEvents'),
        querystring: Query,
        headers: Type.Object({
          'last-event-id': Type.Optional(
            Type.String({ description: 'Of a stream that is resumed: the id of the last event. Wins over `after`.' }),
          ),
        }),
        response: response as object,
      },
    },
    async (request, reply) => {
      if (!rules.enabled) throw new Problem(404, 'Events are not kept here: `notify.events.enabled` is off.')
      const beginning = beginningOf(request.query, request.headers['last-event-id'])
      if (request.headers.accept?.includes('text/event-stream')) return openStream(routes, request, reply, beginning)
      const waitMs = (request.query.wait ?? 0) * 1_000
      const page =
        waitMs === 0
          ? await readPage(routes.stateChanges, beginning)
          : await waitFor(routes, request, beginning, waitMs)
      return formatChange(page) as never
    },
  )
}

function formatChange({ changes, through, last }: ChangePage): Static<typeof Page> {
  return { events: changes.map(changeRecord) as never, next: String(through), more: through < last }
}

function beginningOf(
  { after, limit, event, state, channel }: Static<typeof Query>,
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
 * @throws Problem 401 once the credential of the reader is no longer good
 */
async function waitFor(
  { access, stateChanges, readers, watch }: ChangeRoutes,
  request: FastifyRequest,
  beginning: Beginning,
  waitMs: number,
): Promise<ChangePage> {
  const { subject, expiresAt } = access.callerOf(request)
  const leave = readers.enter(subject)
  const gone = new AbortController()
  const onClose = () => gone.abort()
  request.raw.socket.once('close', onClose)
  const ended = new AbortController()
  const stopWatching = watch?.(request, expiresAt, () => ended.abort())
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
  return new Problem(401, 'The credential expired, or was revoked, while it was waited for events.', { headers })
}

async function openStream(
  { access, clock, watch, ...routes }: ChangeRoutes,
  request: FastifyRequest,
  reply: FastifyReply,
  beginning: Beginning,
): Promise<void> {
  const { subject, expiresAt } = access.callerOf(request)
  const leave = routes.readers.enter(subject)
  const ending = new AbortController()
  let stopWatching: (() => void) | undefined
  try {
    // A cursor that is no good is answered before the stream begins.
    await readPage(routes.stateChanges, { ...beginning, limit: 1 })
    const { raw } = reply
    reply.hijack()
    if (raw.destroyed) return
    beginStream(raw, reply.getHeaders(), request.id)
    stopWatching = watch?.(request, expiresAt, () => ending.abort())
    const lifeMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - clock.now()
    await sendChanges({ ...routes, response: raw, lifeMs }, beginning, ending)
  } finally {
    stopWatching?.()
    leave()
  }
}
