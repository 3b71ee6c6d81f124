import { randomUUIDv7 } from 'node:crypto'
import type { MailContext } from '../context/context.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from '../store/index.ts'
import { languageOf } from './link.ts'
import { createMessage, type NotifyRequest, phoneCodeEvent } from './messages.ts'

/** A code for a phone number. */
export interface PhoneCode {
  readonly user: User
  /** E.164. */
  readonly phoneNumber: string
  readonly code: string
  readonly lifeSeconds: number
}

/** Creates the text message with a code. It names the host of the issuer, so that browsers fill it in nowhere else. */
export function createPhoneCode(
  context: Pick<MailContext, 'issuer' | 'branding' | 'clock' | 'encryptionKey'>,
  { user, phoneNumber, code, lifeSeconds }: PhoneCode,
): OutboxMessage {
  const request: NotifyRequest = {
    event: phoneCodeEvent,
    user_id: user.id,
    phone_number: phoneNumber,
    ...languageOf(user),
    dedup_key: randomUUIDv7(),
    data: {
      code,
      minutes: Math.round(lifeSeconds / 60),
      product: context.branding.name,
      host: new URL(context.issuer).hostname,
    },
  }
  return createMessage(context, { kind: 'mail', subject: user.id, payload: request, ttlMs: lifeSeconds * 1000 })
}
