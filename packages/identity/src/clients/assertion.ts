import { type Clock, tokenHash } from '@gatehouse/kit'
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'
import type { Client } from '../model/client.ts'
import type { IdentityStore } from '../store/index.ts'
import type { AuthenticationCheck, AuthenticationFault } from './authentication-fault.ts'
import { ClientJwks } from './jwks.ts'

/** The algorithms of client assertions: with a private key, never with a shared secret. */
export const assertionAlgorithms = ['ES256', 'RS256', 'PS256', 'EdDSA']

const maxLifeSeconds = 300
const clockToleranceSeconds = 10
const maxAssertionLength = 8_192

/** The subject of an assertion that is not verified yet. */
export function clientIdOf(assertion: string): string | undefined {
  try {
    const { sub } = assertion.length > maxAssertionLength ? {} : decodeJwt(assertion)
    return typeof sub === 'string' && !sub.includes('\u0000') ? sub : undefined
  } catch {
    return undefined
  }
}

/** Where an assertion is presented. */
export interface AssertionPlace {
  readonly issuer: string
  /** The address of the endpoint that was called. */
  readonly endpoint: string
  readonly store: Pick<IdentityStore, 'replayCache'>
}

/** Verifies client assertions (private_key_jwt, RFC 7523 §3 with the audience of RFC 10070). */
export class ClientAssertions {
  readonly #keys: ClientJwks
  readonly #clock: Clock

  constructor({ clock, loopback }: { readonly clock: Clock; readonly loopback: boolean }) {
    this.#clock = clock
    this.#keys = new ClientJwks({ clock, loopback })
  }

  /**
   * Why the assertion does not authenticate the client; undefined when it does: signed by the client, for this server,
   * recent, and used for the first time.
   */
  async verify(place: AssertionPlace, client: Client, assertion: string): Promise<AuthenticationFault | undefined> {
    if (assertion.length > maxAssertionLength) {
      return { check: 'format', detail: `the assertion is longer than ${maxAssertionLength} characters` }
    }
    const verified = await this.#tryVerify(client, assertion)
    if ('fault' in verified) return verified.fault
    const { payload } = verified
    const now = this.#clock.now() / 1000
    const fault = checkClaims(payload, client, place) ?? checkTimes(payload, client, now)
    if (fault !== undefined) return fault
    const used = tokenHash(`${client.id} ${payload.jti}`)
    const expiresAt = effectiveExpiry(payload, client) * 1000 + 60_000
    if (await place.store.replayCache.add('client assertion', used, expiresAt)) return undefined
    return { check: 'replayed', detail: 'an assertion with this jti was already used' }
  }

  async #tryVerify(
    client: Client,
    assertion: string,
  ): Promise<{ readonly payload: JWTPayload } | { readonly fault: AuthenticationFault }> {
    try {
      return { payload: await this.#verify(client, assertion) }
    } catch (error) {
      return { fault: classifyError(error) }
    }
  }

  async #verify(client: Client, assertion: string): Promise<JWTPayload> {
    const options = {
      algorithms: assertionAlgorithms,
      currentDate: new Date(this.#clock.now()),
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ['iss', 'sub', 'aud', 'exp', 'jti'],
    }
    const { jwksUri: address } = client
    const first =
      address === undefined ? (client.jwks as unknown as JSONWebKeySet) : await this.#fetchKeys(address, false)
    try {
      return (await jwtVerify(assertion, createLocalJWKSet(first), options)).payload
    } catch (error) {
      if (address === undefined || !(error instanceof errors.JWKSNoMatchingKey)) throw error
      return (await jwtVerify(assertion, createLocalJWKSet(await this.#fetchKeys(address, true)), options)).payload
    }
  }

  async #fetchKeys(address: string, isKeyMissing: boolean): Promise<JSONWebKeySet> {
    try {
      return await (isKeyMissing ? this.#keys.refresh(address) : this.#keys.get(address))
    } catch (cause) {
      throw new KeysUnavailable(`jwks_uri: ${(cause as Error).message}`, { cause })
    }
  }
}

class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

function checkClaims(
  { iss, sub, aud, jti }: JWTPayload,
  client: Client,
  place: AssertionPlace,
): AuthenticationFault | undefined {
  if (iss !== client.id) return mismatch('issuer', 'iss', iss, [client.id])
  if (sub !== client.id) return mismatch('subject', 'sub', sub, [client.id])
  if (typeof jti !== 'string' || jti === '') return { check: 'claim', detail: 'jti must be a non-empty string' }
  const expected = acceptedAudiences(client, place)
  return typeof aud === 'string' && expected.includes(aud) ? undefined : mismatch('audience', 'aud', aud, expected)
}

/**
 * The audience is the issuer (RFC 10070): another server could name our endpoint as its own and collect assertions for
 * it. Clients whose library can't send the issuer name the endpoint, by their registration.
 */
function acceptedAudiences(client: Client, { issuer, endpoint }: AssertionPlace): readonly string[] {
  return client.assertionAudience === 'endpoint' ? [issuer, `${issuer}/token`, endpoint] : [issuer]
}

/** Libraries that name the endpoint may set `exp` an hour ahead; for them five minutes from `iat` count. */
function effectiveExpiry({ exp = 0, iat }: JWTPayload, client: Client): number {
  return client.assertionAudience === 'endpoint' && iat !== undefined ? Math.min(exp, iat + maxLifeSeconds) : exp
}

function checkTimes(payload: JWTPayload, client: Client, now: number): AuthenticationFault | undefined {
  const { iat } = payload
  if (client.assertionAudience === 'endpoint' && iat !== undefined && iat > now + clockToleranceSeconds) {
    return { check: 'not_yet_valid', detail: `iat is ${Math.round(iat - now)} s in the future` }
  }
  const left = effectiveExpiry(payload, client) - now
  if (left <= -clockToleranceSeconds) {
    return { check: 'expired', detail: `iat is more than ${maxLifeSeconds} s ago` }
  }
  const tolerance = client.assertionAudience === 'endpoint' ? clockToleranceSeconds : 0
  if (left <= maxLifeSeconds + tolerance) return undefined
  return {
    check: 'lifetime',
    detail: `exp is ${Math.round(left)} s in the future, expected at most ${maxLifeSeconds} s`,
  }
}

function mismatch(
  check: AuthenticationCheck,
  claim: string,
  found: unknown,
  expected: readonly string[],
): AuthenticationFault {
  const shown = JSON.stringify(found)?.slice(0, 200)
  return { check, detail: `${claim} is ${shown}, expected ${[...new Set(expected)].join(' or ')}` }
}

/** The check that an error of the library belongs to. */
function classifyError(error: unknown): AuthenticationFault {
  const detail = (error as Error).message
  if (error instanceof KeysUnavailable) return { check: 'jwks_uri', detail }
  if (error instanceof errors.JWTExpired) return { check: 'expired', detail }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return { check: error.claim === 'nbf' ? 'not_yet_valid' : 'claim', detail }
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) return { check: 'signature', detail }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return { check: 'algorithm', detail: `alg must be one of ${assertionAlgorithms.join(', ')}` }
  }
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return { check: 'key', detail: `${detail}; kid and alg of the assertion must match one key of the client` }
  }
  return { check: 'format', detail }
}
