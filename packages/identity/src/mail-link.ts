import { randomUUIDv7 } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'
import { identityEvents, type Mail, message, type Recipient, recipientOf } from './messages.ts'
import type { Parts } from './parts.ts'
import type { MailedLink, OutboxMessage } from './store.ts'
import type { User } from './user.ts'

const paths = { verify: '/email/verify', reset: '/password/reset', registration: '/register/confirm' } as const

/** A mail with a link; its address comes from the configuration, never from the request (checked by a test). */
export function linkMail(
  parts: Pick<Parts, 'issuer' | 'branding' | 'clock' | 'encryptionKey'>,
  kind: keyof typeof paths,
  recipient: Recipient,
  name: string,
  token: string,
  lifeSeconds: number,
): OutboxMessage {
  const mail: Mail = {
    recipient,
    request: {
      event: identityEvents[kind],
      user_id: recipient.user_id,
      channels: ['email'],
      dedup_key: randomUUIDv7(),
      data: {
        link: `${parts.issuer}${paths[kind]}?token=${token}`,
        minutes: Math.round(lifeSeconds / 60),
        product: parts.branding.name,
        name,
      },
    },
  }
  return message(parts, 'mail', recipient.user_id, mail, lifeSeconds * 1000)
}

/** Mails a link to a user's own address; an earlier one of its kind stops working. */
export async function mailLink(parts: Parts, purpose: MailedLink['purpose'], user: User): Promise<void> {
  if (user.email === undefined || !parts.mail) return
  const token = randomToken()
  const seconds = purpose === 'verify' ? parts.lifetimes.verifyLink : parts.lifetimes.resetLink
  const expiresAt = parts.clock.now() + seconds * 1000
  const name = typeof user.claims.name === 'string' ? user.claims.name : user.username
  const link = { hash: tokenHash(token), purpose, userId: user.id, email: user.email, expiresAt }
  await parts.store.accounts.putLink(link, linkMail(parts, purpose, recipientOf(user), name, token, seconds))
  parts.wakeOutbox()
}
