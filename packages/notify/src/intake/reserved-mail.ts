import { Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Reserved, ReservedMail } from '../catalog/reserved.ts'
import type { Accept, AcceptResult } from './accept.ts'

/** What accepting a reserved mail needs. */
export interface ReservedMailContext {
  readonly accept: Accept
  readonly reserved: Reserved
}

/** Accepts a mail of a reserved event type; resolves once it is committed. Refused where its event type is not reserved. */
export async function acceptReservedMail(
  { accept, reserved }: ReservedMailContext,
  mail: ReservedMail,
  source: string,
): Promise<AcceptResult> {
  const eventType = reserved.eventTypes.get(mail.event)
  if (eventType === undefined)
    return {
      refused: new Problem(422, `The event type ${mail.event} is not reserved; notify of it like of any other.`),
    }
  const { email, phone_number: phoneNumber, locale: _, ...request } = mail
  const { channels } = eventType
  const isText = channels.includes('sms')
  const [needed, other] = isText ? [phoneNumber, email] : [email, phoneNumber]
  if (needed === undefined || other !== undefined) {
    const name = isText ? 'phone_number' : 'email'
    return { refused: new Problem(422, `${mail.event} needs the member ${name}, and no other address.`) }
  }
  return accept.one({ request: { ...request, channels }, source, mail })
}

/** POST /v1/reserved-mails: 202 once the mail is committed. */
export function submitReservedMail(context: ReservedMailContext) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const result = await acceptReservedMail(context, request.body as ReservedMail, 'http')
    if ('refused' in result) throw result.refused
    if (!('accepted' in result)) throw new Error('a submitted mail was neither accepted nor refused')
    return reply.code(202).send(result.accepted)
  }
}
