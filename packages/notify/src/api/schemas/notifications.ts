import { Type } from 'typebox'
import { NotifyBody } from '../../request/notify-body.ts'
import { describeOperation } from '../../request/route-options.ts'
import { Id } from '../../request/schemas.ts'

/** The parameters of `/v1/notifications/{id}`. */
export const NotificationParams = Type.Object({ id: Id })

const Detail = Type.Object({}, { additionalProperties: true })

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
    timeline: Type.Array(
      Type.Object({
        at: Type.String({ format: 'date-time' }),
        what: Type.String(),
        channel: Type.Optional(Type.String()),
        detail: Type.Optional(Detail),
      }),
    ),
  },
  { title: 'Notification' },
)

const Explanation = Type.Object(
  {
    channels: Type.Array(
      Type.Object({
        channel: Type.String(),
        outcome: Type.String(),
        reason: Type.Optional(Type.String()),
        until: Type.Optional(Type.String({ format: 'date-time' })),
        subject: Type.Optional(Type.String()),
        body: Type.Optional(Type.String()),
        locale: Type.Optional(Type.String()),
      }),
    ),
    expires_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'From when on nothing of it would be sent any more' }),
    ),
    decisions: Type.Array(Type.Object({}, { additionalProperties: true })),
    cap: Type.Object({}, { additionalProperties: true }),
  },
  { title: 'NotificationExplanation' },
)

/** GET /v1/notifications/{id} */
export const getNotification = describeOperation('notifications.get', {
  params: NotificationParams,
  response: { 200: Notification },
})

/** POST /v1/explain */
export const explain = describeOperation('notifications.explain', { body: NotifyBody, response: { 200: Explanation } })
