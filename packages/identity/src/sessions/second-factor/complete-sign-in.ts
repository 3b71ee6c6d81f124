import type { PageContext } from '../../context/context.ts'
import type { Session } from '../../model/grants/session.ts'
import type { User } from '../../model/user.ts'
import { startSession } from '../finish-sign-in.ts'
import type { BrowserExchange } from '../sign-in-page.ts'
import type { PendingSignIn } from './pending-sign-in.ts'

/** A factor that was proven for a pending sign-in. */
export interface FactorProof {
  readonly user: User
  readonly pending: PendingSignIn
  /** The methods of the factor (RFC 8176), in addition to those before. */
  readonly amr: readonly string[]
  /** Further facts for the audit trail. */
  readonly details?: Readonly<Record<string, unknown>>
  /** When the user signed in, in Unix milliseconds, where the factor is a sign-in by itself. */
  readonly authTime?: number | undefined
  /** Whether the user knows this device, where the credentials changed in this very request. */
  readonly isKnown?: boolean | undefined
}

/**
 * Completes a pending sign-in, or raises its session, by the factor. Undefined, without effect, when the credentials
 * changed meanwhile, the account is locked, or the session to raise or the one at the provider has ended.
 */
export function completeSignIn(
  context: PageContext,
  exchange: BrowserExchange,
  { user, pending, amr, details, authTime, isKnown }: FactorProof,
): Promise<Session | undefined> {
  // A session that is raised keeps the time of its sign-in: only the factor is new.
  const raised = pending.raises === undefined ? undefined : exchange.browser.signedIn?.session
  const methods = [...new Set([...(raised?.amr ?? pending.amr), ...amr])]
  return startSession(context, exchange, {
    user,
    amr: methods,
    details: { ...pending.details, ...details, amr: methods },
    provider: pending.provider,
    pendingSince: pending.startedAt,
    authTime: authTime ?? raised?.authTime ?? pending.authTime,
    isKnown,
  })
}
