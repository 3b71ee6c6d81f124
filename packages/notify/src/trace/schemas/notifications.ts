import { pageMembers } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { deliveryStates } from '../../model/delivery/delivery-state.ts'
import { outcomes } from '../../model/delivery/outcome.ts'
import { priorities } from '../../model/notification/priority.ts'
import { TemplateVersion } from '../../model/notification/timeline.ts'
import { AcceptanceBody } from '../../request/notify-body.ts'
import { describeOperation } from '../../request/route-options.ts'
import { Id, IdCursor, UserParams } from '../../request/schemas.ts'
import { reachabilities } from '../standing.ts'

const DateTime = (description: string) => Type.String({ format: 'date-time', description })

/** What a bounded search answers beside its items. */
const searched = {
  next: Type.Optional(Type.String({ description: 'The `cursor` to search on with; left out when `complete`.' })),
  searched_until: DateTime('Everything accepted since then was looked at.'),
  complete: Type.Boolean({ description: 'Nothing older is left to look at.' }),
}

/** A delivery as lists of notifications have it. */
const DeliveryOfNotification = Type.Object({
  id: Type.Optional(Type.String({ description: 'Left out while it is aggregated: there is no delivery yet.' })),
  channel: Type.Enum([...channels]),
  outcome: Type.Enum([...outcomes]),
  state: Type.Optional(Type.Enum([...deliveryStates])),
  provider: Type.Optional(Type.String()),
  ended: Type.Optional(
    Type.String({
      description: 'Why nothing more is sent, where the state does not say so: `dead_letter`, `expired`, …',
    }),
  ),
})

const NotificationSummary = Type.Object(
  {
    id: Type.String(),
    accepted_at: Type.String({ format: 'date-time' }),
    event: Type.String(),
    user_id: Type.String(),
    priority: Type.Enum([...priorities]),
    deliveries: Type.Array(DeliveryOfNotification),
  },
  { title: 'NotificationSummary' },
)

/** The query of GET /v1/notifications. */
export const NotificationQuery = Type.Object(
  {
    user_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Only those to this user.' })),
    event: Type.Optional(Type.String({ maxLength: 200, description: 'Only those of this event type.' })),
    channel: Type.Optional(Type.Enum([...channels], { description: 'With a delivery on this channel.' })),
    state: Type.Optional(Type.Enum([...deliveryStates], { description: 'With a delivery in this state.' })),
    outcome: Type.Optional(Type.Enum([...outcomes], { description: 'With a delivery of this outcome.' })),
    provider: Type.Optional(Type.String({ maxLength: 100, description: 'With a delivery by this provider.' })),
    priority: Type.Optional(Type.Enum([...priorities], { description: 'Only those of this priority.' })),
    from: Type.Optional(DateTime('Accepted then or later, by the time in its id.')),
    to: Type.Optional(DateTime('Accepted before then.')),
    dedup_key: Type.Optional(
      Type.String({ minLength: 1, maxLength: 500, description: 'The key as its producer sent it.' }),
    ),
    ...pageMembers(IdCursor),
  },
  { additionalProperties: false },
)

/** GET /v1/notifications */
export const listNotifications = describeOperation('notifications.list', {
  querystring: NotificationQuery,
  response: {
    200: Type.Object({ items: Type.Array(NotificationSummary), ...searched }, { title: 'NotificationPage' }),
  },
})

/** The parameters of `/v1/deliveries/{id}`. */
export const DeliveryParams = Type.Object({ id: Id })

const AttemptResult = Type.Object({
  target: Type.String({ description: 'The device, or the channel where there is but one address.' }),
  provider: Type.String(),
  result: Type.String({ description: '`accepted`, `transient`, `permanent`, …' }),
  reason: Type.Optional(Type.String()),
})

const DeliveryDetails = Type.Object(
  {
    id: Type.String(),
    notification_id: Type.String(),
    user_id: Type.String(),
    event: Type.String(),
    channel: Type.Enum([...channels]),
    outcome: Type.Enum([...outcomes]),
    state: Type.Optional(Type.Enum([...deliveryStates])),
    ended: Type.Optional(Type.String()),
    provider: Type.Optional(Type.String({ description: 'The provider that accepted it.' })),
    provider_message_id: Type.Optional(Type.String({ description: "The provider's own id of the message." })),
    attempts: Type.Array(
      Type.Object({
        attempt: Type.Integer(),
        at: Type.String({ format: 'date-time' }),
        what: Type.String({ description: 'The entry of the timeline: `sent`, `attempt_failed`, `dead_letter`, …' }),
        results: Type.Array(AttemptResult, { description: 'What came back for each target.' }),
        reason: Type.Optional(Type.String({ description: 'Why no call was made.' })),
      }),
      { description: 'The calls to providers, the first one first.' },
    ),
  },
  { title: 'Delivery' },
)

/** The query of GET /v1/deliveries. */
export const DeliveryQuery = Type.Object(
  {
    provider_message_id: Type.String({
      minLength: 1,
      maxLength: 500,
      description: "The provider's id of the message.",
    }),
    provider: Type.Optional(Type.String({ maxLength: 100, description: 'Only those by this provider.' })),
    ...pageMembers(IdCursor),
  },
  { additionalProperties: false },
)

/** GET /v1/deliveries/{id} */
export const getDelivery = describeOperation('deliveries.get', {
  params: DeliveryParams,
  response: { 200: DeliveryDetails },
})

/** GET /v1/deliveries */
export const listDeliveries = describeOperation('deliveries.list', {
  querystring: DeliveryQuery,
  response: { 200: Type.Object({ items: Type.Array(DeliveryDetails), ...searched }, { title: 'DeliveryPage' }) },
})

/** The parameters of `/v1/notifications/{id}/…`. */
export const TraceParams = Type.Object({ id: Id })

const ContentOfChannel = Type.Object({
  channel: Type.Enum([...channels]),
  template: TemplateVersion,
  subject: Type.Optional(Type.String()),
  body: Type.Optional(Type.String()),
  html: Type.Optional(Type.String()),
  source: Type.Enum(['rendered_again', 'unfilled', 'sensitive', 'erased'], {
    description:
      '`rendered_again` from the template and the data; `unfilled`: the text of the template, for callers who may not read personal data; `sensitive` texts are shown to nobody; of an `erased` one the data or the template is gone.',
  }),
})

/** GET /v1/notifications/{id}/content */
export const getContent = describeOperation('notifications.content.get', {
  params: TraceParams,
  response: {
    200: Type.Object(
      {
        items: Type.Array(ContentOfChannel, { description: 'One of each channel that something was rendered for.' }),
        data: Type.Optional(
          Type.Object({}, { additionalProperties: true, description: 'The data of its event, as long as it is kept.' }),
        ),
        data_source: Type.Enum(['stored', 'masked', 'sensitive', 'erased'], {
          description: '`masked`: keys with types, for callers who may not read personal data.',
        }),
      },
      { title: 'NotificationContent' },
    ),
  },
})

/** The header fields of GET /v1/notifications/{id}/stream. */
export const StreamHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'Of a stream that is resumed: the id of the last event.' }),
  ),
})

const stream = {
  description: 'Server-sent events, until the token ends.',
  content: { 'text/event-stream': { schema: Type.String() } },
}

/** GET /v1/notifications/{id}/stream */
export const streamNotification = describeOperation('notifications.stream', {
  params: TraceParams,
  querystring: Type.Object({}, { additionalProperties: false }),
  headers: StreamHeaders,
  response: { 200: stream } as object,
})

const Channels = (description: string) =>
  Type.Array(Type.Enum([...channels]), { minItems: 1, uniqueItems: true, description })

/** The body of POST /v1/notifications/{id}/cancel. */
export const CancelBody = Type.Object(
  { channels: Type.Optional(Channels('Only these; all of them where it is left out.')) },
  { additionalProperties: false },
)

/** The body of POST /v1/notifications/{id}/resend. */
export const ResendBody = Type.Object(
  {
    channels: Channels('The channels that it is sent on, whatever the preferences of the user say.'),
    dedup_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Resends of one notification with the same key send once.',
      }),
    ),
  },
  { additionalProperties: false },
)

const Cancelled = Type.Object(
  {
    cancelled: Type.Array(Type.Enum([...channels]), { description: 'Nothing more is sent on these.' }),
    under_way: Type.Array(Type.Enum([...channels]), {
      description: 'A worker has these: what it is sending can not be cancelled, what it puts off can be later.',
    }),
  },
  { title: 'Cancelled' },
)

/** POST /v1/notifications/{id}/cancel */
export const cancelNotification = describeOperation('notifications.cancel', {
  params: TraceParams,
  body: CancelBody,
  response: { 200: Cancelled },
})

/** POST /v1/notifications/{id}/resend */
export const resendNotification = describeOperation('notifications.resend', {
  params: TraceParams,
  body: ResendBody,
  response: { 202: AcceptanceBody },
})

const Reachability = Type.Enum([...reachabilities])

const Standing = Type.Object(
  {
    caps: Type.Array(
      Type.Object({
        cap: Type.String({ description: '`total`, `channel:<channel>` or `priority:<priority>`.' }),
        limit: Type.Integer(),
        used: Type.Integer(),
        resets_at: Type.Optional(DateTime('When its window ends; left out where none is open.')),
      }),
      { description: 'Of everything that is not critical.' },
    ),
    quiet_now: Type.Boolean({ description: 'Whether it is quiet for event types without quiet hours of their own.' }),
    quiet_until: Type.Optional(DateTime('The end of those quiet hours.')),
    open_windows: Type.Array(
      Type.Object({
        event: Type.String(),
        items: Type.Integer({ description: 'How many events are gathered.' }),
        flush_at: DateTime('When they are sent.'),
      }),
    ),
    reachable: Type.Object(
      { push: Reachability, email: Reachability, sms: Reachability, 'in-app': Reachability },
      { description: 'By channel whether it reaches the user, or the first reason why it does not.' },
    ),
  },
  { title: 'Standing' },
)

/** GET /v1/users/{id}/standing */
export const getStanding = describeOperation('users.standing.get', { params: UserParams, response: { 200: Standing } })
