import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  type PublicKeyCredentialRequestOptionsJSON,
  type VerifiedAuthenticationResponse,
  verifyAuthenticationResponse,
} from '@simplewebauthn/server'
import { audit } from '../audit/record.ts'
import type { PasskeyContext } from '../context/features.ts'
import { createNotices } from '../mail/notices.ts'
import { methodsOf } from '../model/authentication.ts'
import { isCounterRegression, type Passkey } from '../model/factors/passkey.ts'
import { relyingPartyOf } from '../model/factors/relying-party.ts'
import type { User } from '../model/user.ts'
import { readUserAgent } from '../sessions/browser.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import type { PasskeyOwner } from '../store/index.ts'
import { type ChallengeUse, consumeChallenge, createChallenge } from './challenges.ts'
import { bytesOf, ceremonyTimeoutMs } from './registration.ts'
import { type PasskeyFault, readResponse, type SentResponse } from './response.ts'

/** The use of an assertion: to sign in whoever it names, or as a factor of a user who is known. */
export type AssertionUse = ChallengeUse & { readonly purpose: 'sign-in' | 'factor' }

/**
 * The options for `navigator.credentials.get`, with a challenge for this browser. Where the user is known the browser
 * offers their passkeys only; at a sign-in whatever it has for this server.
 */
export async function createAssertionOptions(
  context: PasskeyContext,
  { browser }: Pick<BrowserExchange, 'browser'>,
  use: AssertionUse,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const challenge = await createChallenge(context, browser, use)
  const passkeys = use.userId === undefined ? [] : await context.store.passkeys.listByUser(use.userId)
  return generateAuthenticationOptions({
    rpID: relyingPartyOf(context.issuer).id,
    challenge: bytesOf(challenge),
    allowCredentials: passkeys.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: [...transports],
    })),
    timeout: ceremonyTimeoutMs,
    userVerification: 'required',
  })
}

/** A user who proved by a passkey, with user verification, who they are. */
export interface VerifiedAssertion {
  readonly user: User
  readonly passkey: Passkey
  /** The methods (RFC 8176): two factors. */
  readonly amr: readonly string[]
}

/** A response that proves nothing, and whose it claims to be. */
export interface RejectedAssertion {
  readonly fault: PasskeyFault
  readonly userId?: string
}

/**
 * Verifies what `navigator.credentials.get` returned in this browser (WebAuthn Level 3 §7.2), and records the use of the
 * passkey. The challenge is consumed whatever the result. The reason of a rejection is logged; a page must not show it.
 */
export async function verifyAssertion(
  context: PasskeyContext,
  exchange: Pick<BrowserExchange, 'request' | 'browser'>,
  use: AssertionUse,
  text: string,
): Promise<VerifiedAssertion | RejectedAssertion> {
  const { request, browser } = exchange
  const reject = (fault: PasskeyFault, userId?: string, err?: unknown): RejectedAssertion => {
    request.log.info({ err, fault, user: userId }, 'a passkey was rejected')
    return { fault, ...(userId === undefined ? {} : { userId }) }
  }
  const sent = readResponse<AuthenticationResponseJSON>(text)
  if (sent === undefined) return reject('malformed')
  if (!(await consumeChallenge(context, browser, use, sent.challenge))) return reject('challenge')
  if (sent.isCrossOrigin) return reject('cross_origin')
  const owner = await context.store.passkeys.find(sent.response.id)
  if (owner === undefined) return reject('unknown_credential')
  const { passkey, user } = owner
  if (!isOwners(owner, sent.response, use)) return reject('user_handle', user.id)
  const verified = await verifySignature(context, sent, passkey).catch((error: unknown) => ({ error }))
  if (verified === undefined) return reject('verification', user.id)
  if ('error' in verified) return reject('verification', user.id, verified.error)
  if ((verified.credentialDeviceType === 'multiDevice') !== passkey.backupEligible)
    return reject('backup_eligibility', user.id)
  const fault = await recordUse(context, request, owner, verified)
  if (fault !== undefined) return reject(fault, user.id)
  return { user, passkey, amr: passkey.backupEligible ? methodsOf.syncedPasskey : methodsOf.passkey }
}

/**
 * Whether the response names the owner of the passkey. At a sign-in the authenticator says who the user is, so it must;
 * where the user is known the passkey must be theirs.
 */
function isOwners(
  { user, userHandle }: PasskeyOwner,
  { response }: AuthenticationResponseJSON,
  use: AssertionUse,
): boolean {
  if (use.userId !== undefined && use.userId !== user.id) return false
  if (response.userHandle === undefined && use.userId !== undefined) return true
  return response.userHandle === userHandle
}

type AssertionInfo = VerifiedAuthenticationResponse['authenticationInfo']

/** Undefined for a wrong signature. @throws Error for everything else that is wrong */
async function verifySignature(
  { issuer }: PasskeyContext,
  { response, challenge }: SentResponse<AuthenticationResponseJSON>,
  { credentialId, publicKey }: Passkey,
): Promise<AssertionInfo | undefined> {
  const { id: expectedRPID, origin: expectedOrigin } = relyingPartyOf(issuer)
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin,
    expectedRPID,
    requireUserVerification: true,
    // The library must not compare counters: the passkey's own is compared when its use is recorded.
    credential: { id: credentialId, publicKey: bytesOf(publicKey), counter: 0 },
  })
  return verified ? authenticationInfo : undefined
}

async function recordUse(
  context: PasskeyContext,
  request: BrowserExchange['request'],
  { passkey: { id }, user }: PasskeyOwner,
  { newCounter: counter, credentialBackedUp: backedUp }: AssertionInfo,
): Promise<PasskeyFault | undefined> {
  const warnings = createNotices(context, { user, kind: 'passkey_copied', request })
  const use = { counter, backedUp, at: context.clock.now(), userAgent: readUserAgent(request), warnings }
  const decide = (passkey: Passkey) => (isCounterRegression(passkey, counter) ? 'regression' : 'accept')
  const recorded = await context.store.passkeys.recordUse(id, use, decide)
  if (recorded === 'accepted') return undefined
  if (recorded === 'missing') return 'unknown_credential'
  context.signalOutbox()
  const details = { passkey: id, counter }
  await audit(context, request, 'passkey_counter_regressed', { subject: user.id, details })
  return 'counter_regression'
}
