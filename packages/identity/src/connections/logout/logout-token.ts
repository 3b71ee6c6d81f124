import type { Clock } from '@gatehouse/kit'
import { errors, jwtVerify } from 'jose'
import type { Connection } from '../../model/connection.ts'
import type { ProviderClients } from '../provider-clients.ts'

/** What a provider's logout token says. */
export interface LogoutToken {
  readonly issuer: string
  /** One of the two at least. */
  readonly subject: string | undefined
  readonly sid: string | undefined
  readonly tokenId: string
  /** When the token is no longer accepted, in Unix milliseconds. */
  readonly expiresAt: number
}

/** The logout token is not valid. */
export class InvalidLogoutToken extends Error {
  override readonly name = 'InvalidLogoutToken'
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
const toleranceSeconds = 30
/** Older tokens are rejected, in seconds: for so long an identifier is kept. */
const maxAgeSeconds = 600
const maxLength = 8_192
const maxIdLength = 255
/** The asymmetric algorithms of the ID tokens that are accepted. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** `JWT` and none at all are of providers from before the type was named. */
const types = ['logout+jwt', 'application/logout+jwt', 'JWT', undefined]

/**
 * Verifies a logout token of a connection's provider (OpenID Connect Back-Channel Logout §2.6). An ID token is none: it
 * lacks the event, and may have a nonce.
 * @throws InvalidLogoutToken; any other Error when the provider's keys can't be read
 */
export async function verifyLogoutToken(
  clients: ProviderClients,
  connection: Connection,
  token: string,
  clock: Clock,
): Promise<LogoutToken> {
  if (token.length > maxLength) throw new InvalidLogoutToken(`longer than ${maxLength} characters`)
  const { issuer } = (await clients.get(connection)).serverMetadata()
  const verified = jwtVerify(token, await clients.keys(connection), {
    algorithms,
    issuer,
    audience: connection.settings.client_id,
    requiredClaims: ['iat', 'exp', 'jti', 'events'],
    maxTokenAge: maxAgeSeconds,
    clockTolerance: toleranceSeconds,
    currentDate: new Date(clock.now()),
  })
  const { payload, protectedHeader } = await verified.catch((error: unknown) => {
    throw isVerdict(error) ? new InvalidLogoutToken('it does not verify', { cause: error }) : error
  })
  if (!types.includes(protectedHeader.typ)) throw new InvalidLogoutToken('typ must be logout+jwt')
  const { sub, sid, jti, iat = 0, events, nonce } = payload
  if (nonce !== undefined) throw new InvalidLogoutToken('nonce must be absent')
  if (!isLogoutEvent(events)) throw new InvalidLogoutToken('events must contain that of a logout')
  const [subject, session] = [readId('sub', sub), readId('sid', sid)]
  if (subject === undefined && session === undefined) throw new InvalidLogoutToken('sub or sid is required')
  const tokenId = readId('jti', jti)
  if (tokenId === undefined) throw new InvalidLogoutToken('jti is required')
  const expiresAt = (iat + maxAgeSeconds + 2 * toleranceSeconds) * 1000
  return { issuer, subject, sid: session, tokenId, expiresAt }
}

/** Whether an error is about the token, and not about the keys. */
function isVerdict(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout) return false
  return error.code !== errors.JOSEError.code
}

function isLogoutEvent(events: unknown): boolean {
  const event =
    typeof events === 'object' && events !== null ? (events as Record<string, unknown>)[logoutEvent] : undefined
  return typeof event === 'object' && event !== null && !Array.isArray(event)
}

function readId(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '' || value.length > maxIdLength || value.includes('\u0000'))
    throw new InvalidLogoutToken(`${name} must be a string of 1 to ${maxIdLength} characters`)
  return value
}
