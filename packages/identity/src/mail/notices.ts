import { randomUUIDv7 } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { MailContext } from '../context/context.ts'
import type { User } from '../model/user.ts'
import { knownDeviceName } from '../pages/device-name.ts'
import type { OutboxMessage } from '../store/index.ts'
import { mailAddress } from './link.ts'
import { createMessage, type NoticeKind, type NotifyRequest, noticeSeconds } from './messages.ts'

/** What a notice names beside time and device. */
export interface NoticeFacts {
  /** The factor that was added or removed, as its template knows it: `totp`, `passkey`. */
  readonly factor?: string
  /** The name of the application that got access. */
  readonly app?: string
  /** The name of the identity provider. */
  readonly provider?: string
  /** The name of the organization that it is about. */
  readonly organization?: string
  /** The keys of the roles that a member has now, separated by commas. */
  readonly roles?: string
  /** The last digits of the new phone number; empty when it was removed. */
  readonly phone?: string
  /** The new address, to which `email_changed` goes too. It is not named in the mail to the old one. */
  readonly email?: string
}

/** A notice to create. */
export interface Notice {
  /** The user as before the change: the notice goes to that address. */
  readonly user: User
  readonly kind: NoticeKind
  /** The request that caused it; undefined where its device is not to be named: an administrator did it. */
  readonly request: Pick<FastifyRequest, 'ip' | 'headers'> | undefined
  readonly facts?: NoticeFacts
}

type NoticeContext = Pick<MailContext, 'issuer' | 'branding' | 'clock' | 'encryptionKey' | 'mail'>

const hour = 3_600_000

/** How many notices of a kind a user gets in how many milliseconds at most: an attacker must not bury one in others. */
const defaultBound = { count: 5, windowMs: hour }
const bounds: Partial<Record<NoticeKind, { readonly count: number; readonly windowMs: number }>> = {
  // Two mails each.
  email_changed: { count: 10, windowMs: hour },
  // Anybody can cause these without having signed in.
  passkey_copied: { count: 1, windowMs: 24 * hour },
  too_many_failures: { count: 1, windowMs: 24 * hour },
  account_exists: { count: 1, windowMs: hour },
  invitation_not_yours: { count: 2, windowMs: hour },
}

const maxTextLength = 100

/**
 * Creates the mails that tell a user what happened to the account; none without mail or an address. They are stored by
 * the transaction of the change, so that there is one for each change, and none without it. Nobody can switch them off.
 *
 * @example
 * const messages = createNotices(context, { user, kind: 'password_changed', request })
 * await store.accounts.setPassword({ ...change, messages }, end)
 * context.signalOutbox()
 */
export function createNotices(context: NoticeContext, notice: Notice): readonly OutboxMessage[] {
  const { user, kind, facts = {} } = notice
  if (!context.mail) return []
  const changed = kind === 'email_changed' ? facts.email : undefined
  const addresses = [user.email, changed].filter((email) => email !== undefined)
  return addresses.map((email) => createNotice(context, notice, email))
}

function createNotice(context: NoticeContext, { user, kind, request, facts = {} }: Notice, email: string) {
  const { email: _new, ...named } = facts
  const payload: NotifyRequest = {
    event: kind,
    user_id: user.id,
    ...omitUserId(mailAddress({ ...user, email })),
    dedup_key: randomUUIDv7(),
    data: {
      link: `${context.issuer}/account`,
      product: context.branding.name,
      name: typeof user.claims.name === 'string' ? user.claims.name : user.username,
      at: formatTime(context.clock.now(), user),
      device: (request && knownDeviceName(request.headers['user-agent'] ?? '')) ?? '',
      address: request?.ip ?? '',
      ...Object.fromEntries(Object.entries(named).map(([name, value]) => [name, value.slice(0, maxTextLength)])),
    },
  }
  const bound = { kind, ...(bounds[kind] ?? defaultBound) }
  return { ...createMessage(context, { kind: 'mail', subject: user.id, payload, ttlMs: noticeSeconds * 1000 }), bound }
}

function omitUserId({ email, locale }: ReturnType<typeof mailAddress>) {
  return { email, ...(locale === undefined ? {} : { locale }) }
}

/** Formats a time in the user's language and time zone, in UTC where that is unknown. */
function formatTime(at: number, { claims: { locale, zoneinfo } }: User): string {
  const format = (language: unknown, timeZone: unknown) =>
    new Intl.DateTimeFormat(typeof language === 'string' ? language : 'en', {
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      timeZone: typeof timeZone === 'string' ? timeZone : 'UTC',
      timeZoneName: 'short',
    }).format(at)
  for (const [language, timeZone] of [
    [locale, zoneinfo],
    [locale, 'UTC'],
  ]) {
    try {
      return format(language, timeZone)
    } catch {
      // A language tag or a time zone that this platform does not know.
    }
  }
  return format('en', 'UTC')
}
