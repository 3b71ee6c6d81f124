import { randomBytes } from 'node:crypto'
import { orderedId } from '@gatehouse/kit'
import {
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type RegistrationResponseJSON,
  type VerifiedRegistrationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import type { PasskeyContext } from '../context/features.ts'
import { knownTransports, type Passkey } from '../model/factors/passkey.ts'
import { relyingPartyOf } from '../model/factors/relying-party.ts'
import type { User } from '../model/user.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import type { Registration } from '../store/index.ts'
import { type ChallengeUse, consumeChallenge, createChallenge } from './challenges.ts'
import { type PasskeyFault, readResponse } from './response.ts'

/** EdDSA, ES256 and RS256: what every authenticator and every supported Node offers. */
const algorithms = [-8, -7, -257]

/** How long a browser waits for its user, in milliseconds (WebAuthn Level 3 §15.1 recommends 5 to 10 minutes). */
export const ceremonyTimeoutMs = 300_000

/** A name for users by which authenticators tell them apart (base64url): random, so that it tells nothing. */
export function createUserHandle(): string {
  return randomBytes(32).toString('base64url')
}

/** The options for `navigator.credentials.create`, with a challenge for this user in this browser. */
export async function createRegistrationOptions(
  context: PasskeyContext,
  { browser }: Pick<BrowserExchange, 'browser'>,
  user: User,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { store } = context
  const handle = await store.passkeyRegistrations.userHandle(user.id, createUserHandle())
  if (handle === undefined) throw new Error('the user was deleted')
  const challenge = await createChallenge(context, browser, useOf({ userId: user.id }))
  const existing = await store.passkeys.listByUser(user.id)
  const { name } = user.claims
  const displayName = typeof name === 'string' ? name : user.username
  return creationOptions(context, { handle, name: user.email ?? user.username, displayName }, challenge, existing)
}

/** The same for the user of an account that is being registered: the challenge is for this registration. */
export async function createSignUpOptions(
  context: PasskeyContext,
  { browser }: Pick<BrowserExchange, 'browser'>,
  { hash: registration, userId, userHandle: handle, email }: Registration,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const challenge = await createChallenge(context, browser, useOf({ userId, registration }))
  return creationOptions(context, { handle, name: email, displayName: email }, challenge, [])
}

/** Whom a passkey is created for. */
export interface PasskeyHolder {
  readonly userId: string
  /** The hash of the registration that creates the user. */
  readonly registration?: string
}

function useOf({ userId, registration }: PasskeyHolder): ChallengeUse {
  return registration === undefined ? { purpose: 'register', userId } : { purpose: 'sign-up', registration }
}

/** What authenticators show of a user. */
interface ShownUser {
  readonly handle: string
  readonly name: string
  readonly displayName: string
}

function creationOptions(
  { branding, issuer }: PasskeyContext,
  { handle, name, displayName }: ShownUser,
  challenge: string,
  existing: readonly Passkey[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return generateRegistrationOptions({
    rpName: branding.name,
    rpID: relyingPartyOf(issuer).id,
    userName: name,
    userDisplayName: displayName,
    userID: bytesOf(handle),
    challenge: bytesOf(challenge),
    timeout: ceremonyTimeoutMs,
    attestationType: 'none',
    excludeCredentials: existing.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: [...transports],
    })),
    // A new object each time, because the library changes it.
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  })
}

/** What is known of a new passkey before it is named. */
export type VerifiedRegistration = Omit<Passkey, 'name'>

/**
 * Verifies what `navigator.credentials.create` returned in this browser for this user (WebAuthn Level 3 §7.1). The
 * challenge is consumed whatever the result. The reason of a rejection is logged.
 */
export async function verifyRegistration(
  context: PasskeyContext,
  { request, browser }: Pick<BrowserExchange, 'request' | 'browser'>,
  holder: PasskeyHolder,
  text: string,
): Promise<VerifiedRegistration | { readonly fault: PasskeyFault }> {
  const reject = (fault: PasskeyFault, err?: unknown) => {
    request.log.info({ err, fault, user: holder.userId }, 'the registration of a passkey was rejected')
    return { fault }
  }
  const sent = readResponse<RegistrationResponseJSON>(text)
  if (sent === undefined) return reject('malformed')
  const { response, challenge, isCrossOrigin } = sent
  if (!(await consumeChallenge(context, browser, useOf(holder), challenge))) return reject('challenge')
  if (isCrossOrigin) return reject('cross_origin')
  const { id: expectedRPID, origin: expectedOrigin } = relyingPartyOf(context.issuer)
  const expected = { expectedChallenge: challenge, expectedOrigin, expectedRPID }
  const rules = { requireUserPresence: true, requireUserVerification: true, supportedAlgorithmIDs: algorithms }
  let verified: VerifiedRegistrationResponse
  try {
    verified = await verifyRegistrationResponse({ response, ...expected, ...rules })
  } catch (error) {
    return reject('verification', error)
  }
  if (!verified.verified) return reject('verification')
  if (response.clientExtensionResults?.credProps?.rk === false) return reject('not_discoverable')
  return passkeyOf(holder, response, verified.registrationInfo, context.clock.now())
}

type RegistrationInfo = NonNullable<VerifiedRegistrationResponse['registrationInfo']>

function passkeyOf(
  { userId }: PasskeyHolder,
  response: RegistrationResponseJSON,
  { credential, credentialDeviceType, credentialBackedUp, aaguid }: RegistrationInfo,
  now: number,
): VerifiedRegistration {
  return {
    id: orderedId(),
    credentialId: credential.id,
    userId,
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    signCount: credential.counter,
    backupEligible: credentialDeviceType === 'multiDevice',
    backedUp: credentialBackedUp,
    transports: knownTransports(response.response.transports),
    aaguid,
    createdAt: now,
    lastUsedAt: undefined,
    lastUserAgent: undefined,
    counterRegressedAt: undefined,
  }
}

/** The bytes of a base64url text. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}
