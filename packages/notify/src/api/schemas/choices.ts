import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { describeOperation } from '../../request/route-options.ts'
import { UserParams } from '../../request/schemas.ts'

const ChannelNames = Type.Array(Type.Enum([...channels]), { uniqueItems: true })

/** The parameters of `/v1/users/{id}/choices/{event}`. */
export const ChoiceParams = Type.Object({
  ...UserParams.properties,
  event: Type.String({ minLength: 1, maxLength: 200, description: 'The event type.' }),
})

/** What a user may choose, and has chosen. */
export const Choices = Type.Object(
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

/** The body of PUT /v1/users/{id}/choices. */
export const Unsubscribe = Type.Object({ unsubscribed: Type.Boolean() }, { additionalProperties: false })

/** The body of PUT /v1/users/{id}/choices/{event}. */
export const ChosenChannels = Type.Object({ channels: ChannelNames }, { additionalProperties: false })

/** The body of PATCH /v1/users/{id}/choices/{event}. */
export const Switches = Type.Object(
  { on: Type.Optional(ChannelNames), off: Type.Optional(ChannelNames) },
  { additionalProperties: false, minProperties: 1 },
)

/** GET /v1/users/{id}/choices */
export const getChoices = describeOperation('users.choices.get', { params: UserParams, response: { 200: Choices } })

/** PUT /v1/users/{id}/choices */
export const unsubscribe = describeOperation('users.choices.unsubscribe', {
  params: UserParams,
  body: Unsubscribe,
  response: { 200: Choices },
})

/** PUT /v1/users/{id}/choices/{event} */
export const setChoice = describeOperation('users.choices.set', {
  params: ChoiceParams,
  body: ChosenChannels,
  response: { 200: Choices },
})

/** PATCH /v1/users/{id}/choices/{event} */
export const updateChoice = describeOperation('users.choices.update', {
  params: ChoiceParams,
  body: Switches,
  response: { 200: Choices },
})
