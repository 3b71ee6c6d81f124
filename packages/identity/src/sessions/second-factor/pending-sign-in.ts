import { seal, tokenHash, unseal } from '@gatehouse/kit'
import type { PageContext } from '../../context/context.ts'
import { type ProviderSession, pendingSignInMs } from '../../model/grants/session.ts'
import { PageError } from '../../pages/page-error.ts'
import type { WaitingProviderSession } from '../../store/index.ts'
import type { Browser } from '../browser.ts'

/**
 * A sign-in whose second factor is missing. It is sealed into the page that asks for the factor, so that there is no
 * session before, and is valid only in the browser that it was made for and while the credentials stay the same.
 */
export interface PendingSignIn {
  readonly userId: string
  readonly credentialVersion: string
  /** The methods that were used so far (RFC 8176). */
  readonly amr: readonly string[]
  /** Facts for the audit trail. */
  readonly details: Readonly<Record<string, unknown>>
  /** The account at a provider, where one proved the first way. */
  readonly provider?: ProviderSession | undefined
  /** When the user signed in there, in Unix milliseconds, where that is known. */
  readonly authTime?: number | undefined
  /** The session that the factor is added to, where the user is signed in already. */
  readonly raises?: string | undefined
  /** What failed attempts are counted by. */
  readonly challenge: string
  /** In Unix milliseconds: through a provider when the exchange began that proved it, because its logouts count since. */
  readonly startedAt: number
}

const purpose = 'pending sign-in'

type SealContext = Pick<PageContext, 'encryptionKey' | 'clock'>

/** Seals a pending sign-in for a browser. */
export function sealPendingSignIn({ encryptionKey }: SealContext, browser: Browser, pending: PendingSignIn): string {
  return seal(JSON.stringify({ ...pending, browser: tokenHash(browser.id) }), encryptionKey, purpose)
}

/** @throws PageError 400 when it was made for another browser or session, too long ago, or not by this server */
export function openPendingSignIn(context: SealContext, browser: Browser, sealed: string | undefined): PendingSignIn {
  const found = findPendingSignIn(context, browser, sealed)
  if (found === undefined) throw new PageError(400, 'error.stale')
  return found
}

/** Undefined where {@link openPendingSignIn} throws. */
export function findPendingSignIn(
  context: SealContext,
  browser: Browser,
  sealed: string | undefined,
): PendingSignIn | undefined {
  const opened = read(context, browser, sealed)
  if (opened === undefined || opened.startedAt + pendingSignInMs < context.clock.now()) return undefined
  const { signedIn } = browser
  if (opened.raises !== undefined && (opened.raises !== signedIn?.session.id || opened.userId !== signedIn.user.id))
    return undefined
  return opened
}

/** Whether a form may be this user's: false where it completes a sign-in of somebody else, however old that is. */
export function mayBeFormOf(
  context: Pick<SealContext, 'encryptionKey'>,
  browser: Browser,
  sealed: string | undefined,
  userId: string,
): boolean {
  return (read(context, browser, sealed)?.userId ?? userId) === userId
}

/**
 * Whether what was proven first is allowed where only the connection `required` is. A session that exists goes on, and a
 * factor may be added to it.
 */
export function isThrough({ raises, provider }: PendingSignIn, required: string | undefined): boolean {
  return required === undefined || raises !== undefined || provider?.connectionId === required
}

/** What a logout at its provider makes void; undefined where no provider proved the first way. */
export function waitingAtProvider(
  { signedIn, suspended }: Browser,
  { provider, userId, startedAt }: PendingSignIn,
): WaitingProviderSession | undefined {
  if (provider === undefined) return undefined
  const before = signedIn ?? suspended
  const sessionId = before?.user.id === userId ? before.session.id : undefined
  return { linkId: provider.linkId, sid: provider.sid, since: startedAt, sessionId }
}

/** Of whatever age. Undefined where it was made for another browser, or not by this server. */
function read(
  { encryptionKey }: Pick<SealContext, 'encryptionKey'>,
  { id }: Browser,
  sealed = '',
): PendingSignIn | undefined {
  try {
    const opened: PendingSignIn & { readonly browser: string } = JSON.parse(unseal(sealed, encryptionKey, purpose))
    return opened.browser === tokenHash(id) ? opened : undefined
  } catch {
    return undefined
  }
}
