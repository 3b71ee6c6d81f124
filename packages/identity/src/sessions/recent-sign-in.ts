import type { FastifyReply } from 'fastify'
import type { PageContext } from '../context/context.ts'
import { mayManageFactors } from '../model/factors/second-factor.ts'
import type { Form } from '../oauth/parameters.ts'
import type { Browser } from './browser.ts'
import { type Continuation, sealContinuation } from './continuation.ts'
import { beginFactorStep } from './second-factor/factor-pages.ts'
import { type BrowserExchange, sendSignInPage } from './sign-in-page.ts'

/** How old a sign-in may be for the user to change how they sign in, in milliseconds. */
export const recentSignInMs = 5 * 60_000

/** A browser whose user signed in a moment ago; or the page that was sent instead and leads back to `to`. */
export type RecentSignIn = { readonly signedIn: NonNullable<Browser['signedIn']> } | { readonly sent: FastifyReply }

/**
 * Guards what a stolen session must not do: to change how its user signs in. The sign-in has to be recent, and as strong
 * as the factors of the user demand; a remembered device does not count.
 *
 * @example
 * const recent = requireRecentSignIn(context, { request, reply, browser }, '/account/factors')
 * if ('sent' in recent) return recent.sent
 */
export function requireRecentSignIn(
  context: PageContext,
  exchange: BrowserExchange,
  to: Continuation['to'],
  form: Form = {},
): RecentSignIn {
  const { browser } = exchange
  const { signedIn } = browser
  const now = context.clock.now()
  if (signedIn === undefined || now - signedIn.session.authTime > recentSignInMs)
    return { sent: sendSignInPage(context, exchange, to, form) }
  const { session, user, factors } = signedIn
  if (mayManageFactors(session.amr, factors)) return { signedIn }
  if (session.amr.includes('mfa')) return { sent: sendSignInPage(context, exchange, to, form) }
  const continuation = sealContinuation(context, browser, { to, request: form, startedAt: now })
  const proven = { amr: session.amr, details: {}, raises: session.id }
  return { sent: beginFactorStep(context, exchange, 'factor', { user, factors, proven, continuation }) }
}
