import { audit } from '../audit/record.ts'
import type { PageContext } from '../context/context.ts'
import type { User } from '../model/user.ts'
import { signIn } from './browser.ts'
import { type Continuation, openContinuation } from './continuation.ts'
import { resume } from './resume.ts'
import type { BrowserExchange } from './sign-in-page.ts'

/** A user who proved in this browser who they are, by one of the ways to sign in. */
export interface ProvenUser {
  readonly user: User
  /** The methods that were used (RFC 8176). */
  readonly amr: readonly string[]
  /** Further facts for the audit trail. */
  readonly details?: Readonly<Record<string, unknown>>
  /** Called once the session has started, before the response: gives back what the attempt was charged. */
  readonly refund?: () => Promise<void>
}

/**
 * Ends every way to sign in: starts the session and resumes what the browser was doing, by its sealed continuation.
 * False, without effect and without a response, when what was proven is void: the credentials changed meanwhile or the
 * account is locked. (It returns no reply: whoever awaits one gets undefined, because a reply is a promise of its own end.)
 *
 * @throws PageError 400 for a continuation of another browser or an old one
 */
export async function finishSignIn(
  context: PageContext,
  { request, reply, browser }: BrowserExchange,
  { user, amr, details = {}, refund }: ProvenUser,
  sealed: string,
): Promise<boolean> {
  const continuation: Continuation = openContinuation(context, browser, sealed)
  const session = await signIn(context, request, reply, { user, amr, before: browser.signedIn })
  if (session === undefined) return false
  await refund?.()
  await audit(context, request, 'login', { subject: user.id, details: { sid: session.id, ...details } })
  context.metrics.signIn('success')
  resume({ context, request, reply }, continuation, sealed)
  return true
}
