import { Type } from 'typebox'
import { RecipientSettings } from '../catalog/declaration.ts'
import { AcceptanceBody, NotifyBody } from '../request/notify-body.ts'
import { describeOperation } from '../request/route-options.ts'

const { event, user_id, data, dedup_key } = NotifyBody.properties

const MailBody = Type.Object(
  {
    event,
    user_id,
    email: RecipientSettings.properties.email,
    phone_number: RecipientSettings.properties.phone_number,
    locale: RecipientSettings.properties.locale,
    data,
    dedup_key,
  },
  { title: 'ReservedMail', additionalProperties: false },
)

/** Newline-delimited JSON. */
export const ndjson = 'application/x-ndjson'

/** Events of one bulk request. */
export const maxBulkEvents = 10_000

const BulkBody = Type.Array(Type.Unknown({ description: 'An event, as `notifications.send` takes it.' }), {
  minItems: 1,
  maxItems: maxBulkEvents,
})

const lines = {
  description: 'One line for each event, in order.',
  content: { [ndjson]: { schema: Type.String() } },
}

/** POST /v1/notify */
export const notify = describeOperation('notifications.send', { body: NotifyBody, response: { 202: AcceptanceBody } })

/** POST /v1/notify/bulk */
export const bulk = describeOperation('notifications.sendBulk', {
  consumes: ['application/json', ndjson],
  body: BulkBody,
  response: { 200: lines } as object,
})

/** POST /v1/reserved-mails */
export const reservedMail = describeOperation('reservedMails.send', {
  body: MailBody,
  response: { 202: AcceptanceBody },
})
