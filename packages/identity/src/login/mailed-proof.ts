import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { LoginContext } from '../context/features.ts'
import { createLinkMail, mailAddress } from '../mail/link.ts'
import { createCode, hashCode } from '../model/factors/mailed-code.ts'
import type { User } from '../model/user.ts'
import type { Browser } from '../sessions/browser.ts'
import type { SignInLinkWithUser } from '../store/index.ts'
import { refundAttempt } from './attempts.ts'

/** A sign-in that waits for a mailed link or code. */
export interface BegunSignIn {
  readonly browser: Browser
  /** Sealed. */
  readonly continuation: string
  /** The methods that the sign-in amounts to, once proven. */
  readonly amr: readonly string[]
  /** Of the page that waits for a code; undefined where it waits for the link alone. */
  readonly challenge: string | undefined
  /** By what attempts at the code are limited. */
  readonly account: string
}

/** Mails a code, with a link that does the same; without a user only the page waits for one. */
export function mailSignInCode(
  context: LoginContext,
  request: FastifyRequest,
  user: User | undefined,
  begun: BegunSignIn,
): Promise<void> {
  return mailProof(context, request, user, { ...begun, kind: 'signInCode' })
}

/** Mails the link that completes the sign-in of a user with a correct password, with a code where the page waits for it. */
export function mailConfirmation(
  context: LoginContext,
  request: FastifyRequest,
  user: User | undefined,
  begun: BegunSignIn,
): Promise<void> {
  return mailProof(context, request, user, { ...begun, kind: 'signIn' })
}

async function mailProof(
  context: LoginContext,
  request: FastifyRequest,
  user: User | undefined,
  { browser, continuation, amr, challenge, account, kind }: BegunSignIn & { readonly kind: 'signIn' | 'signInCode' },
): Promise<void> {
  const token = randomToken()
  const code = challenge === undefined ? undefined : { ...createCode(), challenge }
  const lifeSeconds = context.lifetimes[code === undefined ? 'signInLink' : 'emailCode']
  const recipient = user?.email === undefined ? undefined : { ...user, email: user.email }
  if (recipient === undefined && code === undefined) return
  const mails = recipient && [
    createLinkMail(context, {
      kind,
      to: mailAddress(recipient),
      name: typeof recipient.claims.name === 'string' ? recipient.claims.name : recipient.username,
      path: `/login/confirm?token=${token}`,
      lifeSeconds,
      code: code?.code,
    }),
  ]
  const link = {
    hash: tokenHash(token),
    user: recipient,
    browserHash: tokenHash(browser.id),
    continuation,
    amr,
    ...(code && { code: { challengeHash: tokenHash(code.challenge), codeHash: hashCode(code), account } }),
    expiresAt: context.clock.now() + lifeSeconds * 1000,
  }
  await context.store.signInLinks.put(link, mails ?? [])
  if (recipient === undefined) return
  context.signalOutbox()
  await audit(context, request, 'login_link_sent', { subject: recipient.id })
}

/** Refunds the attempt at the password that a mail has confirmed; a sign-in by mail alone was not charged one. */
export async function refundProof(
  context: LoginContext,
  request: FastifyRequest,
  { user, amr }: SignInLinkWithUser,
): Promise<void> {
  if (amr.includes('pwd')) await refundAttempt(context, { account: user.id, address: request.ip, isKnown: false })
}
