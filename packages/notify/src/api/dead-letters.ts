import { type Clock, type Http, instantOf, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Audit } from '../context/audit.ts'
import { type Channel, channels } from '../model/channel.ts'
import { idPattern } from '../model/id.ts'
import { hidden, maskLetterDetail, maskTimeline } from '../model/masking.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { DeadLetter, DeadLetterFilter, DeadLetters, Notifications } from '../store/store.ts'

const Id = Type.String({ pattern: idPattern, description: 'A UUID that this API issued.' })
const Before = Type.String({ pattern: idPattern, description: 'The `next` of the previous page.' })
const OneLetter = Type.Object({ id: Id })

const LetterRecord = Type.Object({
  id: Type.String(),
  notification_id: Type.Optional(Type.String()),
  user_id: Type.Optional(Type.String()),
  channel: Type.Optional(Type.String()),
  event: Type.Optional(Type.String()),
  cause: Type.String(),
  detail: Type.String(),
  died_at: Type.String({ format: 'date-time' }),
  expires_at: Type.Optional(Type.String({ format: 'date-time', description: "From when on it can't be replayed" })),
  text: Type.Optional(Type.String({ description: 'What an invalid message of the topic said' })),
  timeline: Type.Optional(Type.Array(Type.Object({}, { additionalProperties: true }))),
})

const ReplayedRecord = Type.Object({
  replayed: Type.Integer({ description: 'How many went back to be delivered.' }),
  expired: Type.Optional(
    Type.Integer({ description: 'How many that were meant stay, since their message will have expired.' }),
  ),
})

const filters = {
  cause: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'template, permanent, attempts_exhausted, unregistered, worker_died, …',
    }),
  ),
  channel: Type.Optional(Type.Enum([...channels], { description: 'Only those of this channel.' })),
  event: Type.Optional(Type.String({ maxLength: 200, description: 'Only those of this event type.' })),
  user_id: Type.Optional(Type.String({ maxLength: 256, description: 'Only those to this user.' })),
}

const Selection = Type.Object(
  {
    ...filters,
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 1_000 })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000, description: 'The most items of a page.' }),
    ),
  },
  { additionalProperties: false },
)

export interface DeadLetterRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: DeadLetters
  readonly notifications: Notifications
  readonly clock: Clock
  /** Told after a replay, so that workers need not wait. */
  readonly onReplayed: () => void
}

/** /v1/dead-letters: what was given up, with replay of one, some or all, at once or at a time, and discard. */
export function deadLetterEndpoints(
  http: Http,
  { access, audit, store, notifications, clock, onReplayed }: DeadLetterRoutes,
): void {
  const about = (id: OperationId, required: 'readDelivery' | 'manage' = 'manage') => ({
    tags: ['dead letters'],
    ...operation(id),
    security: access.security(required),
  })
  const auditOne = async (request: FastifyRequest, action: string, id: string) => {
    const letter = await store.find(id)
    if (!letter) throw missing(id)
    const { userId: user_id, channel, event, cause } = letter
    await audit(request, { action, target: { type: 'dead-letter', id }, before: { user_id, channel, event, cause } })
  }
  const Count = (name: string) => Type.Object({ [name]: Type.Integer() })

  http.get(
    '/v1/dead-letters',
    {
      onRequest: access.allow('readDelivery'),
      schema: {
        ...about('deadLetters.list', 'readDelivery'),
        querystring: Type.Object(
          {
            ...filters,
            limit: Type.Optional(
              Type.Integer({ minimum: 1, maximum: 1_000, default: 100, description: 'The most items of a page.' }),
            ),
            before: Type.Optional(Before),
          },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ dead_letters: Type.Array(LetterRecord), next: Type.Optional(Type.String()) }) },
      },
    },
    async (request) => {
      const { query } = request
      const { limit = 100, before } = query
      const letters = await store.list(filterOf(query as Static<typeof Selection>), limit, before)
      const last = letters.at(-1)
      return {
        dead_letters: letters.map((letter) =>
          formatDeadLetter(access.masks(request, letter.userId) ? maskDeadLetter(letter) : letter),
        ),
        ...(letters.length === limit && last ? { next: last.id } : {}),
      } as never
    },
  )
  http.get(
    '/v1/dead-letters/:id',
    {
      onRequest: access.allow('readDelivery'),
      schema: {
        ...about('deadLetters.get', 'readDelivery'),
        params: OneLetter,
        response: { 200: LetterRecord },
      },
    },
    async (request) => {
      const { id } = request.params
      const letter = await store.find(id)
      if (!letter) throw missing(id)
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
    },
  )
  http.post(
    '/v1/dead-letters/replay',
    {
      onRequest: access.allow('manage'),
      schema: {
        ...about('deadLetters.replayMany'),
        body: Type.Object(
          { ...Selection.properties, at: Type.Optional(Type.String({ format: 'date-time' })) },
          { additionalProperties: false },
        ),
        response: { 200: ReplayedRecord },
      },
    },
    async (request) => {
      const { body } = request
      const at = body.at === undefined ? clock.now() : instantOf(body.at, '/at')
      await audit(request, { action: 'dead-letters.replay', target: selected, after: body })
      const selection = filterOf(body as Static<typeof Selection>)
      const { replayed, expired } = await store.replay(selection, body.limit ?? 1_000, at)
      onReplayed()
      return { replayed, ...(expired > 0 ? { expired } : {}) }
    },
  )
  http.post(
    '/v1/dead-letters/:id/replay',
    {
      onRequest: access.allow('manage'),
      schema: { ...about('deadLetters.replay'), params: OneLetter, response: { 200: Count('replayed') } },
    },
    async (request) => {
      const { id } = request.params
      await auditOne(request, 'dead-letters.replay', id)
      const { replayed, expired } = await store.replay({ ids: [id] }, 1, clock.now())
      if (expired > 0) throw tooLate(id)
      if (replayed === 0) throw missing(id)
      onReplayed()
      return { replayed } as never
    },
  )
  http.post(
    '/v1/dead-letters/discard',
    {
      onRequest: access.allow('manage'),
      schema: { ...about('deadLetters.discardMany'), body: Selection, response: { 200: Count('discarded') } },
    },
    async (request) => {
      const selection = request.body as Static<typeof Selection>
      await audit(request, { action: 'dead-letters.discard', target: selected, after: selection })
      return { discarded: await store.discard(filterOf(selection), selection.limit ?? 1_000) } as never
    },
  )
  http.delete(
    '/v1/dead-letters/:id',
    {
      onRequest: access.allow('manage'),
      schema: { ...about('deadLetters.discard'), params: OneLetter, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const { id } = request.params
      await auditOne(request, 'dead-letters.discard', id)
      if ((await store.discard({ ids: [id] }, 1)) === 0) throw missing(id)
      return reply.code(204).send(null)
    },
  )
}

/** The target of a change that names its letters by filters. */
const selected = { type: 'dead-letters', id: 'selection' } as const

/** Without the words of a provider, of a template's fault, or of a message that was not valid. */
function maskDeadLetter(letter: DeadLetter): DeadLetter {
  const { cause, detail, text } = letter
  return { ...letter, detail: maskLetterDetail(cause, detail), ...(text === undefined ? {} : { text: hidden }) }
}

function missing(id: string): Problem {
  return new Problem(404, `There is no dead letter ${id} that this can be done with.`)
}

function tooLate(id: string): Problem {
  return new Problem(409, `The message of the dead letter ${id} has expired: it can be discarded, but not replayed.`)
}

function filterOf({ cause, channel, event, user_id, ids }: Static<typeof Selection>): DeadLetterFilter {
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
