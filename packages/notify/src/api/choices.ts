import { type Http, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { Audit } from '../context/audit.ts'
import { channels } from '../model/channel.ts'
import type { Choices, UserChoices } from '../preferences/choices.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import { unknownEventProblem } from '../request/request-problem.ts'

const ChannelNames = Type.Array(Type.Enum([...channels]), { uniqueItems: true })
const User = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) })

const ChoiceOf = Type.Object({
  ...User.properties,
  event: Type.String({ minLength: 1, maxLength: 200, description: 'The event type.' }),
})

type UserRequest = FastifyRequest<{ Params: { id: string; event?: string } }>

const ChoicesBody = Type.Object(
  {
    unsubscribed: Type.Boolean({ description: 'From everything that is not critical' }),
    event_types: Type.Array(
      Type.Object({
        event: Type.String(),
        title: Type.String(),
        critical: Type.Boolean(),
        channels: Type.Array(Type.Object({ channel: Type.String(), on: Type.Boolean() })),
      }),
    ),
  },
  { title: 'Choices' },
)

export interface ChoiceRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly choices: Choices
  readonly catalog: CatalogKeeper
}

/** /v1/users/{id}/choices: what a user may choose, event type by event type, as a panel of preferences shows it. */
export function choiceEndpoints(http: Http, { access, audit, choices, catalog }: ChoiceRoutes): void {
  const about = (id: OperationId, required: 'readOwn' | 'changeOwn' = 'changeOwn') => ({
    tags: ['preferences'],
    ...operation(id),
    security: access.security(required),
    response: { 200: ChoicesBody },
  })
  const mustBeKnown = async (event: string) => {
    const known = await catalog.current()
    if (!known.eventTypes.has(event)) throw unknownEventProblem(event, known, '/event')
  }
  const auditChange = async (request: UserRequest, action: string, after: object) => {
    const { id, event } = request.params
    if (!access.manages(request, id)) return
    const target = { type: 'user', id }
    await audit(request, { action, target, after: { ...(event === undefined ? {} : { event }), ...after } })
  }
  const readChoices = async (userId: string) => formatChoices(await choices.of(userId))

  http.get(
    '/v1/users/:id/choices',
    {
      onRequest: access.allowUnder('readOwn'),
      schema: { ...about('choices.get', 'readOwn'), params: User },
    },
    ({ params }) => readChoices(params.id),
  )
  http.put(
    '/v1/users/:id/choices',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: {
        ...about('choices.unsubscribe'),
        params: User,
        body: Type.Object({ unsubscribed: Type.Boolean() }, { additionalProperties: false }),
      },
    },
    async (request) => {
      const { params, body } = request
      await auditChange(request, 'choices.unsubscribe', body)
      await choices.unsubscribeAll(params.id, body.unsubscribed, 'by the user')
      return readChoices(params.id)
    },
  )
  http.put(
    '/v1/users/:id/choices/:event',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: {
        ...about('choices.set'),
        params: ChoiceOf,
        body: Type.Object({ channels: ChannelNames }, { additionalProperties: false }),
      },
    },
    async (request) => {
      const { params, body } = request
      await mustBeKnown(params.event)
      await auditChange(request, 'choices.set', body)
      await choices.choose(params.id, params.event, body.channels)
      return readChoices(params.id)
    },
  )
  http.patch(
    '/v1/users/:id/choices/:event',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: {
        ...about('choices.update'),
        params: ChoiceOf,
        body: Type.Object(
          { on: Type.Optional(ChannelNames), off: Type.Optional(ChannelNames) },
          { additionalProperties: false, minProperties: 1 },
        ),
      },
    },
    async (request) => {
      const { params } = request
      const { on = [], off = [] } = request.body
      const both = on.filter((channel) => off.includes(channel))
      if (both.length > 0) throw new Problem(422, `A channel can not be switched both on and off: ${both.join(', ')}.`)
      await mustBeKnown(params.event)
      await auditChange(request, 'choices.switch', { on, off })
      await choices.turn(params.id, params.event, { on, off })
      return readChoices(params.id)
    },
  )
}

function formatChoices({ unsubscribed, choices }: UserChoices): Static<typeof ChoicesBody> {
  const types = choices.map(({ channels: offered, ...choice }) => ({ ...choice, channels: [...offered] }))
  return { unsubscribed, event_types: types }
}
