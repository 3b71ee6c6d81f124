import { Type } from 'typebox'
import { reasonMembers } from '../../model/notification/timeline.ts'
import { NotifyBody } from '../../request/notify-body.ts'
import { describeOperation } from '../../request/route-options.ts'
import { Id } from '../../request/schemas.ts'
import { TimelineEntry } from './timeline.ts'

/** The parameters of `/v1/notifications/{id}`. */
export const NotificationParams = Type.Object({ id: Id })

const Notification = Type.Object(
  {
    id: Type.String(),
    user_id: Type.String(),
    event: Type.String(),
    priority: Type.String(),
    dedup_key: Type.Optional(Type.String()),
    accepted_at: Type.String({ format: 'date-time' }),
    expires_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'From when on nothing of it is sent any more' }),
    ),
    deliveries: Type.Array(
      Type.Object({
        id: Type.Optional(Type.String()),
        channel: Type.String(),
        outcome: Type.String(),
        state: Type.Optional(Type.String()),
        provider: Type.Optional(Type.String()),
        ended: Type.Optional(Type.String()),
      }),
    ),
    timeline: Type.Array(TimelineEntry),
  },
  { title: 'Notification' },
)

const foreseen = {
  outcome: Type.String(),
  reason_code: Type.Optional(reasonMembers.reason_code),
  params: reasonMembers.params,
  reason: Type.Optional(reasonMembers.reason),
  until: Type.Optional(Type.String({ format: 'date-time' })),
  subject: Type.Optional(Type.String()),
  body: Type.Optional(Type.String()),
  locale: Type.Optional(Type.String()),
}

const Gathered = Type.Object(
  {
    is_open: Type.Boolean({ description: 'Whether others wait already' }),
    flush_at: Type.String({ format: 'date-time', description: 'When they are sent' }),
    items: Type.Integer({ description: 'Events of the window, with this one' }),
    actors: Type.Integer({ description: 'Distinct actors among them' }),
    threshold: Type.Integer({ description: 'More events than this are combined' }),
    sent_as: Type.Enum(['combined', 'individual'], { description: 'If no other event comes' }),
  },
  { description: 'What the event would be gathered with, where its type is aggregated' },
)

const Later = Type.Object(
  { at: Type.String({ format: 'date-time' }), ...foreseen },
  {
    description:
      'Of a channel that waits: what would become of it then, with what is known now. Caps are counted then. Left out for sensitive event types',
  },
)

const Explanation = Type.Object(
  {
    channels: Type.Array(Type.Object({ channel: Type.String(), ...foreseen, later: Type.Optional(Later) })),
    gathered: Type.Optional(Gathered),
    expires_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'From when on nothing of it would be sent any more' }),
    ),
    decisions: Type.Array(TimelineEntry, { description: 'What was decided, in order.' }),
    cap: Type.Object({}, { additionalProperties: true }),
  },
  { title: 'NotificationExplanation' },
)

/** The body of POST /v1/explain. */
export const ExplainBody = Type.Object(
  {
    ...NotifyBody.properties,
    at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Explains for this time; left out, for now. Settings are those of now.',
      }),
    ),
  },
  { title: 'ExplainRequest', additionalProperties: false },
)

/** GET /v1/notifications/{id} */
export const getNotification = describeOperation('notifications.get', {
  params: NotificationParams,
  response: { 200: Notification },
})

/** POST /v1/explain */
export const explain = describeOperation('notifications.explain', { body: ExplainBody, response: { 200: Explanation } })
