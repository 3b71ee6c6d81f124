import type { FastifyReply } from 'fastify'
import { audit } from '../audit/record.ts'
import { findRequiredConnection } from '../connections/home.ts'
import type { PageContext } from '../context/context.ts'
import { signInMethodOf } from '../model/authentication.ts'
import { chooseFactorStep, usableFactors } from '../model/factors/second-factor.ts'
import type { ProviderSession, Session } from '../model/grants/session.ts'
import type { User } from '../model/user.ts'
import { findPolicy, signIn } from './browser.ts'
import { openContinuation, sealContinuation } from './continuation.ts'
import { recentSignInMs } from './recent-sign-in.ts'
import { resume } from './resume.ts'
import { beginFactorStep } from './second-factor/factor-pages.ts'
import { isRememberedDevice } from './second-factor/remembered-device.ts'
import { type BrowserExchange, sendSignInPageAgain } from './sign-in-page.ts'

/** A user who proved in this browser who they are, by one of the ways to sign in. */
export interface ProvenUser {
  readonly user: User
  /** The methods that were used (RFC 8176). */
  readonly amr: readonly string[]
  /** Further facts for the audit trail. */
  readonly details?: Readonly<Record<string, unknown>>
  /** The account at a provider, where one proved it. */
  readonly provider?: ProviderSession
  /** When the user signed in there, in Unix milliseconds, where that is known. Default: now. */
  readonly authTime?: number | undefined
  /** Called once this way is proven, before the response: gives back what the attempt was charged. */
  readonly refund?: () => Promise<void>
}

/**
 * Ends every way to sign in: starts the session and resumes what the browser was doing, by its sealed continuation. Where
 * a second factor is missing, its page is sent instead, and there is no session; before a first factor is enrolled, a
 * sign-in that was silent at the provider has to become a new one. False, without effect and without a
 * response, when what was proven is void: the credentials changed meanwhile, the account is locked, the session at the
 * provider has ended, or the connection of the user's email domain is the only way to sign in. (It returns no reply:
 * whoever awaits one gets undefined, because a reply is a promise of its own end.)
 *
 * @throws PageError 400 for a continuation of another browser or an old one
 */
export async function finishSignIn(
  context: PageContext,
  exchange: BrowserExchange,
  { user, amr, details = {}, provider, authTime, refund }: ProvenUser,
  sealed: string,
): Promise<boolean> {
  openContinuation(context, exchange.browser, sealed)
  const required = await findRequiredConnection(context, user.email)
  if (required !== undefined && required !== provider?.connectionId) return false
  const enrolled = await context.store.factors.find(user.id)
  const kinds = enrolled.factors.map(({ kind }) => kind)
  const factors = usableFactors(kinds, context.features)
  const remembered = factors.length > 0 && (await isRememberedDevice(context, exchange.request, user))
  const policy = await findPolicy(context, user.id)
  const step = chooseFactorStep({ amr, remembered, factors, policy, mustEnrol: enrolled.mustEnrol })
  if (step !== undefined) {
    await refund?.()
    if (step === 'enrol' && authTime !== undefined && context.clock.now() - authTime > recentSignInMs) {
      requireNewSignIn(context, exchange, sealed)
      return true
    }
    context.metrics.signIn('factor')
    beginFactorStep(context, exchange, step, {
      user,
      factors,
      proven: { amr, details, provider, authTime },
      continuation: sealed,
    })
    return true
  }
  const stoodIn = remembered && !amr.includes('mfa')
  const complete = { user, amr, details, provider, authTime, remembered: stoodIn }
  const session = await startSession(context, exchange, complete)
  if (session === undefined) return false
  await refund?.()
  resumeSealed(context, exchange, sealed)
  return true
}

/** Sends the sign-in page again, which only a new sign-in leaves: whoever holds an old session adds no factor to it. */
function requireNewSignIn(context: PageContext, exchange: BrowserExchange, sealed: string): void {
  const resumed = openContinuation(context, exchange.browser, sealed)
  const continuation = sealContinuation(context, exchange.browser, { ...resumed, needsNewSignIn: true })
  sendSignInPageAgain(context, exchange, continuation, { wrong: 'enrol.sign_in', values: {}, status: 401 })
}

/** A sign-in with everything that it needs. */
export interface CompleteSignIn extends Pick<ProvenUser, 'user' | 'amr'> {
  readonly details: Readonly<Record<string, unknown>>
  readonly provider?: ProviderSession | undefined
  readonly remembered?: boolean
  /** When the first way was proven, where a provider says so or only a second factor was added to a session. */
  readonly authTime?: number | undefined
  /** Whether the user knows this device, where the credentials changed in this very request. */
  readonly isKnown?: boolean | undefined
  /** Since when it waited for its second factor, in Unix milliseconds, where that was proven now. */
  readonly pendingSince?: number | undefined
}

/**
 * Starts or continues the session. Undefined, without effect, when the credentials changed meanwhile, the account is
 * locked, or the session to raise or the one at the provider has ended.
 */
export async function startSession(
  context: PageContext,
  { request, reply, browser }: BrowserExchange,
  { details, ...complete }: CompleteSignIn,
): Promise<Session | undefined> {
  const before = browser.signedIn ?? browser.suspended
  const session = await signIn(context, request, reply, { ...complete, before })
  if (session === undefined) return undefined
  await audit(context, request, 'login', { subject: complete.user.id, details: { sid: session.id, ...details } })
  context.metrics.signIn('success', signInMethodOf(complete.amr))
  return session
}

/** Resumes what the browser was doing. @throws PageError 400 for a continuation of another browser or an old one */
export function resumeSealed(
  context: PageContext,
  { request, reply, browser }: BrowserExchange,
  sealed: string,
): FastifyReply {
  return resume({ context, request, reply }, openContinuation(context, browser, sealed), sealed)
}
