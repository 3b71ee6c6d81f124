import { type Http, Problem } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import type { Reserved, ReservedMail } from '../catalog/reserved.ts'
import { RecipientSettings } from '../config/declaration.ts'
import type { AccessControl } from '../request/caller.ts'
import { AcceptanceBody, maxEventBytes, NotifyBody } from '../request/notify-body.ts'
import { operation } from '../request/operations.ts'
import type { Accept, AcceptResult } from './accept.ts'

const { event, user_id, data, dedup_key } = NotifyBody.properties

const MailBody = Type.Object(
  {
    event,
    user_id,
    email: Type.Required(RecipientSettings).properties.email,
    locale: RecipientSettings.properties.locale,
    data,
    dedup_key,
  },
  { title: 'ReservedMail', additionalProperties: false },
)

export interface ReservedMailParts {
  readonly accept: Accept
  readonly reserved: Reserved
}

/** Takes a mail of a reserved event type; resolves once it is committed. Refused where its event type is not reserved. */
export async function acceptReservedMail(
  { accept, reserved }: ReservedMailParts,
  mail: ReservedMail,
  source: string,
): Promise<AcceptResult> {
  if (!reserved.eventTypes.has(mail.event))
    return {
      refused: new Problem(422, `The event type ${mail.event} is not reserved; notify of it like of any other.`),
    }
  const { email: _, locale: __, ...request } = mail
  return accept.one({ request: { ...request, channels: ['email'] }, source, mail })
}

/** POST /v1/reserved-mails: 202 once the mail is committed. */
export function reservedMailEndpoint(
  http: Http,
  { access, ...parts }: ReservedMailParts & { readonly access: AccessControl },
): void {
  http.post(
    '/v1/reserved-mails',
    {
      bodyLimit: maxEventBytes,
      onRequest: access.allow('mailReserved'),
      schema: {
        tags: ['notifications'],
        ...operation('reservedMails.send'),
        security: access.security('mailReserved'),
        body: MailBody,
        response: { 202: AcceptanceBody },
      },
    },
    async (request, reply) => {
      const mail = request.body as Static<typeof MailBody> as ReservedMail
      const result = await acceptReservedMail(parts, mail, 'http')
      if ('refused' in result) throw result.refused
      if (!('accepted' in result)) throw new Error('a mail that waits for its answer was neither taken nor refused')
      return reply.code(202).send(result.accepted as never)
    },
  )
}
