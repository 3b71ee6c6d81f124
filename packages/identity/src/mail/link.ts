import { randomUUIDv7 } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import type { MailContext } from '../context/context.ts'
import type { User } from '../model/user.ts'
import type { LinkPurpose, OutboxMessage } from '../store/index.ts'
import { createMessage, linkEvents, type NotifyRequest } from './messages.ts'

/** The path of each link, and whether it requires the current credentials. */
const links = {
  verify: { path: '/email/verify', letsIn: false, lifetime: 'verifyLink' },
  reset: { path: '/password/reset', letsIn: true, lifetime: 'resetLink' },
} as const satisfies Record<LinkPurpose, { path: string; letsIn: boolean; lifetime: keyof MailContext['lifetimes'] }>

/** The recipient of a mail, with the address. */
export interface MailAddress {
  readonly userId: string
  readonly email: string
  readonly locale?: string
}

/** A mail with a link. */
export interface LinkMail {
  readonly kind: keyof typeof linkEvents
  readonly to: MailAddress
  readonly name: string
  /** Path and query, below the issuer. */
  readonly path: string
  readonly lifeSeconds: number
  /** A code that does the same. */
  readonly code?: string | undefined
}

/** Creates a mail with a link. The link's address comes from the configuration, never from the request. */
export function createLinkMail(
  context: Pick<MailContext, 'issuer' | 'branding' | 'clock' | 'encryptionKey'>,
  { kind, to, name, path, lifeSeconds, code = '' }: LinkMail,
): OutboxMessage {
  const request: NotifyRequest = {
    event: linkEvents[kind],
    user_id: to.userId,
    email: to.email,
    ...(to.locale === undefined ? {} : { locale: to.locale }),
    dedup_key: randomUUIDv7(),
    data: {
      link: `${context.issuer}${path}`,
      minutes: Math.round(lifeSeconds / 60),
      product: context.branding.name,
      name,
      code,
    },
  }
  return createMessage(context, { kind: 'mail', subject: to.userId, payload: request, ttlMs: lifeSeconds * 1000 })
}

/** The mail address of a user. */
export function mailAddress(user: User & { readonly email: string }): MailAddress {
  return { userId: user.id, email: user.email, ...languageOf(user) }
}

/** The language of a user's messages, if it is known. */
export function languageOf({ claims: { locale } }: User): { readonly locale?: string } {
  const isTag = typeof locale === 'string' && locale.length >= 1 && locale.length <= maxTagLength
  return isTag ? { locale } : {}
}

/** Longer values are not valid language tags. */
const maxTagLength = 100

/**
 * Mails a link to the user's own address; an earlier link for the same purpose becomes invalid. The link works once,
 * while the account has this address and, where it grants access, the credentials of `user`.
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
