import type { FastifyReply } from 'fastify'
import type { PageContext } from '../context/context.ts'
import type { Form } from '../oauth/parameters.ts'
import type { Browser } from './browser.ts'
import type { Continuation } from './continuation.ts'
import { type BrowserExchange, sendSignInPage } from './sign-in-page.ts'

/** How old a sign-in may be for the user to change how they sign in, in milliseconds. */
export const recentSignInMs = 5 * 60_000

/** A browser whose user signed in a moment ago; or the login page, which was sent instead and leads back to `to`. */
export type RecentSignIn = { readonly signedIn: NonNullable<Browser['signedIn']> } | { readonly sent: FastifyReply }

/**
 * Guards what a stolen session must not do: to change how its user signs in.
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
  const { signedIn } = exchange.browser
  if (signedIn !== undefined && context.clock.now() - signedIn.session.authTime <= recentSignInMs) return { signedIn }
  return { sent: sendSignInPage(context, exchange, to, form) }
}
