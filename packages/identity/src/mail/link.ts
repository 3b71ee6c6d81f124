import { randomUUIDv7 } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { MailContext } from '../context/context.ts'
import type { User } from '../model/user.ts'
import type { LinkPurpose, OutboxMessage } from '../store/index.ts'
import { createMessage, identityEvents, type NotifyRequest } from './messages.ts'

/** Where a mail's link leads, and whether it works with the credentials of this moment alone. */
const links = {
  verify: { path: '/email/verify', letsIn: false, lifetime: 'verifyLink' },
  reset: { path: '/password/reset', letsIn: true, lifetime: 'resetLink' },
} as const satisfies Record<LinkPurpose, { path: string; letsIn: boolean; lifetime: keyof MailContext['lifetimes'] }>

/** Whose a mail is and where it goes: it takes its address along. */
export interface MailAddress {
  readonly userId: string
  readonly email: string
  readonly locale?: string
}

export interface LinkMail {
  readonly kind: keyof typeof identityEvents
  readonly to: MailAddress
  readonly name: string
  /** Path and query, below the issuer. */
  readonly path: string
  readonly lifeSeconds: number
}

/** A mail with a link; its address comes from the configuration, never from the request (checked by a test). */
export function createLinkMail(
  context: Pick<MailContext, 'issuer' | 'branding' | 'clock' | 'encryptionKey'>,
  { kind, to, name, path, lifeSeconds }: LinkMail,
): OutboxMessage {
  const request: NotifyRequest = {
    event: identityEvents[kind],
    user_id: to.userId,
    email: to.email,
    ...(to.locale === undefined ? {} : { locale: to.locale }),
    dedup_key: randomUUIDv7(),
    data: {
      link: `${context.issuer}${path}`,
      minutes: Math.round(lifeSeconds / 60),
      product: context.branding.name,
      name,
    },
  }
  return createMessage(context, { kind: 'mail', subject: to.userId, payload: request, ttlMs: lifeSeconds * 1000 })
}

/** Where mails to a user go. */
export function mailAddress({ id, email, claims: { locale } }: User & { readonly email: string }): MailAddress {
  const isTag = typeof locale === 'string' && locale.length >= 1 && locale.length <= maxTagLength
  return { userId: id, email, ...(isTag ? { locale } : {}) }
}

/** Longer ones are no language tags that anybody has texts for. */
const maxTagLength = 100

/**
 * Mails a link to a user's own address; an earlier one of its kind stops working. The link works once, while the account
 * has this address and, where it lets somebody in, the credentials that it has in `user`.
 */
export async function sendLink(context: MailContext, purpose: LinkPurpose, user: User): Promise<void> {
  const { email } = user
  if (email === undefined || !context.mail) return
  const { path, letsIn, lifetime } = links[purpose]
  const token = randomToken()
  const lifeSeconds = context.lifetimes[lifetime]
  const link = {
    hash: tokenHash(token),
    purpose,
    userId: user.id,
    email,
    credentialVersion: letsIn ? user.credentialVersion : undefined,
    expiresAt: context.clock.now() + lifeSeconds * 1000,
  }
  const name = typeof user.claims.name === 'string' ? user.claims.name : user.username
  const mail = { kind: purpose, to: mailAddress({ ...user, email }), name, path: `${path}?token=${token}`, lifeSeconds }
  if (await context.store.mailedLinks.put(link, createLinkMail(context, mail))) context.signalOutbox()
}
