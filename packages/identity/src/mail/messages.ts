import { canonicalLocale, isZone, type KeyRing, maxPlaceLength, orderedId, seal, unseal } from '@gatehouse/kit'
import type { MailContext } from '../context/context.ts'
import { parsePhoneNumber } from '../model/factors/phone-number.ts'
import type { Lifetimes } from '../model/grants/lifetimes.ts'
import type { User } from '../model/user.ts'
import type { OutboxMessage } from '../store/index.ts'

/** A recipient of notifications, as the notification service stores it. */
export interface Recipient {
  readonly user_id: string
  readonly email?: string | undefined
  readonly phone_number?: string | undefined
  readonly locale?: string | undefined
  readonly zoneinfo?: string | undefined
}

/** A recipient whose account was deleted. */
export interface GoneRecipient {
  readonly user_id: string
  readonly removed: true
}

/** Receives the changes of recipients. */
export type OnRecipient = (recipient: Recipient | GoneRecipient) => Promise<void>

/** A mail or text message for the notification service to send, to the one address in the request. */
export interface NotifyRequest {
  readonly event: (typeof linkEvents)[keyof typeof linkEvents] | typeof phoneCodeEvent | NoticeKind
  readonly user_id: string
  readonly email?: string
  /** E.164; for the event type {@link phoneCodeEvent} alone. */
  readonly phone_number?: string
  /** BCP 47. */
  readonly locale?: string
  readonly data: Readonly<Record<string, string | number>>
  readonly dedup_key: string
}

/** Sends a mail or text message through the notification service. */
export type Notify = (request: NotifyRequest) => Promise<void>

/**
 * The event types of mails with a link or a code that does something. Their data is `link`, `minutes` of its lifetime,
 * `product`, `name` and, where there is one, `code`; for `organization_invitation` `name` is the organization's.
 */
export const linkEvents = {
  verify: 'verify_email',
  reset: 'reset_password',
  signIn: 'confirm_sign_in',
  registration: 'confirm_registration',
  invitation: 'organization_invitation',
  signInCode: 'sign_in_code',
  emailCode: 'email_code',
} as const

/**
 * The event type of text messages with a code that proves a phone number. Its data is `code`, `minutes` of its lifetime,
 * `product` and `host`, of the pages that take the code.
 */
export const phoneCodeEvent = 'phone_code'

/**
 * The event types of notices of what happened to an account. Their data is `at`, `device` and `address` (empty where
 * unknown), `link` to the account page, `product`, `name`, and what the notice is about.
 */
export const noticeEvents = [
  'new_device',
  'password_changed',
  'password_reset',
  'email_changed',
  'phone_changed',
  'factor_added',
  'factor_removed',
  'passkey_copied',
  'recovery_code_used',
  'recovery_codes_regenerated',
  'device_remembered',
  'app_connected',
  'provider_linked',
  'provider_unlinked',
  'signed_out_everywhere',
  'too_many_failures',
  'account_exists',
  'invitation_not_yours',
  'organization_joined',
  'organization_left',
  'organization_roles_changed',
  'organization_requires_mfa',
] as const

/** The kind of a notice: its event type. */
export type NoticeKind = (typeof noticeEvents)[number]

/**
 * Every event type of identity's messages: critical (no cap, no quiet hours) and sensitive (their content is not stored).
 */
export const identityEvents: readonly string[] = [...Object.values(linkEvents), ...noticeEvents, phoneCodeEvent]

/** The lifetime of the link in each mail. */
const linkLifetimes = {
  verify: 'verifyLink',
  reset: 'resetLink',
  signIn: 'signInLink',
  registration: 'verifyLink',
  invitation: 'invitation',
  signInCode: 'emailCode',
  emailCode: 'emailCode',
} as const satisfies Record<keyof typeof linkEvents, keyof Lifetimes>

/** For how long a notice that could not be delivered is of use. */
export const noticeSeconds = 7 * 86_400

/** For how long the message of each event type is of use, in seconds: one with a link until that expires. */
export function mailLifetimes(lifetimes: Lifetimes): ReadonlyMap<string, number> {
  const kinds = Object.keys(linkEvents) as (keyof typeof linkEvents)[]
  return new Map([
    ...kinds.map((kind) => [linkEvents[kind], lifetimes[linkLifetimes[kind]]] as const),
    ...noticeEvents.map((event) => [event, noticeSeconds] as const),
    [phoneCodeEvent, lifetimes.emailCode] as const,
  ])
}

/** The purpose that a message's payload is sealed for, so that it can't be exchanged with another's. */
export function outboxPurpose(id: string): string {
  return `outbox ${id}`
}

type MessageContext = Pick<MailContext, 'clock' | 'encryptionKey'>

/** What a message of the outbox delivers, and for how long it is of use. */
export interface MessageContent {
  readonly kind: OutboxMessage['kind']
  readonly subject: string
  readonly payload: object
  readonly ttlMs: number
}

/** Creates a message for the outbox; sealed, because it may contain a link that opens an account. */
export function createMessage(
  { clock, encryptionKey }: MessageContext,
  { kind, subject, payload, ttlMs }: MessageContent,
): OutboxMessage {
  const id = orderedId()
  const dueAt = clock.now()
  const payloadSealed = seal(JSON.stringify(payload), encryptionKey, outboxPurpose(id))
  return { id, kind, subject, payloadSealed, dueAt, expiresAt: dueAt + ttlMs }
}

/** Opens the payload of a message. */
export function openPayload<Payload>({ id, payloadSealed }: OutboxMessage, encryptionKey: KeyRing): Payload {
  return JSON.parse(unseal(payloadSealed, encryptionKey, outboxPurpose(id))) as Payload
}

const recipientTtlMs = 30 * 86_400_000

/** Creates the message that sends the user's data of the time of delivery to the notification service. */
export function createRecipientMessage(context: MessageContext, userId: string): OutboxMessage {
  return createMessage(context, { kind: 'recipient', subject: userId, payload: {}, ttlMs: recipientTtlMs })
}

/**
 * The recipient that a user is. Nothing checked the claims, and the notification service refuses a recipient as a whole:
 * a claim that it would refuse is left out, as one that is not there, which takes an earlier value away.
 */
export function formatRecipient({ id, email, claims }: User): Recipient {
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  const phoneNumber = parsePhoneNumber(text(claims.phone_number))
  const [locale, zoneinfo] = [text(claims.locale), text(claims.zoneinfo)]
  return {
    user_id: id,
    ...(email === undefined ? {} : { email }),
    ...(phoneNumber === undefined ? {} : { phone_number: phoneNumber }),
    ...(locale.length <= maxPlaceLength && canonicalLocale(locale) !== undefined ? { locale } : {}),
    ...(zoneinfo.length <= maxPlaceLength && isZone(zoneinfo) ? { zoneinfo } : {}),
  }
}
