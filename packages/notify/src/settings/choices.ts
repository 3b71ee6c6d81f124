import { type Http, Problem } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import type { Guards } from '../caller.ts'
import type { CatalogKeeper } from '../catalog.ts'
import { channels } from '../channel.ts'
import type { Choices, UserChoices } from '../choices.ts'
import { unknownEventProblem } from '../request-problem.ts'

const ChannelNames = Type.Array(Type.Enum([...channels]), { uniqueItems: true })
const User = Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }) })

const ChoiceOf = Type.Object({ ...User.properties, event: Type.String({ minLength: 1, maxLength: 200 }) })

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
  readonly guards: Guards
  readonly choices: Choices
  readonly catalog: CatalogKeeper
}

/** /v1/users/{id}/choices: what a user may choose, event type by event type, as a panel of preferences shows it. */
export function choiceEndpoints(http: Http, { guards, choices, catalog }: ChoiceRoutes): void {
  const { own, admin } = guards.scopes
  const about = (summary: string) => ({
    tags: ['preferences'],
    summary,
    security: [{ bearer: [own] }, { bearer: [admin] }],
    response: { 200: ChoicesBody },
  })
  const mustBeKnown = async (event: string) => {
    const known = await catalog.current()
    if (!known.eventTypes.has(event)) throw unknownEventProblem(event, known, '/event')
  }
  const told = async (userId: string) => written(await choices.of(userId))

  http.get(
    '/v1/users/:id/choices',
    { onRequest: guards.own, schema: { ...about('What a user may choose, and what holds now'), params: User } },
    ({ params }) => told(params.id),
  )
  http.put(
    '/v1/users/:id/choices',
    {
      onRequest: guards.own,
      schema: {
        ...about('Unsubscribes from everything that is not critical, or takes that back'),
        params: User,
        body: Type.Object({ unsubscribed: Type.Boolean() }, { additionalProperties: false }),
      },
    },
    async ({ params, body }) => {
      await choices.unsubscribeAll(params.id, body.unsubscribed, 'by the user')
      return told(params.id)
    },
  )
  http.put(
    '/v1/users/:id/choices/:event',
    {
      onRequest: guards.own,
      schema: {
        ...about('Switches these channels of an event type on, and its others off'),
        params: ChoiceOf,
        body: Type.Object({ channels: ChannelNames }, { additionalProperties: false }),
      },
    },
    async ({ params, body }) => {
      await mustBeKnown(params.event)
      await choices.choose(params.id, params.event, body.channels)
      return told(params.id)
    },
  )
  http.patch(
    '/v1/users/:id/choices/:event',
    {
      onRequest: guards.own,
      schema: {
        ...about('Switches these channels of an event type on or off, and leaves its others as they are'),
        params: ChoiceOf,
        body: Type.Object(
          { on: Type.Optional(ChannelNames), off: Type.Optional(ChannelNames) },
          { additionalProperties: false, minProperties: 1 },
        ),
      },
    },
    async ({ params, body: { on = [], off = [] } }) => {
      const both = on.filter((channel) => off.includes(channel))
      if (both.length > 0) throw new Problem(422, `A channel can not be switched both on and off: ${both.join(', ')}.`)
      await mustBeKnown(params.event)
      await choices.turn(params.id, params.event, { on, off })
      return told(params.id)
    },
  )
}

function written({ unsubscribed, choices }: UserChoices): Static<typeof ChoicesBody> {
  const types = choices.map(({ channels: offered, ...choice }) => ({ ...choice, channels: [...offered] }))
  return { unsubscribed, event_types: types }
}
