import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { Clock } from '../model/clock.ts'
import type { SendResult } from '../model/send-result.ts'
import { signJwt } from '../signature/sign-jwt.ts'
import {
  describeResponse,
  type HttpClient,
  type HttpResponse,
  parseJsonObject,
  resultOfError,
  retryAfterOf,
} from './http.ts'

/** A Google service account, as far as it is needed to obtain access tokens. */
export interface ServiceAccount {
  readonly projectId: string
  readonly clientEmail: string
  readonly keyId: string | undefined
  readonly key: KeyObject
  /** The token endpoint. */
  readonly tokenUri: URL
}

/**
 * Parses the JSON of a service account.
 * @throws RangeError describing what is wrong, without the text itself: it is a secret
 */
export function readServiceAccount(json: string): ServiceAccount {
  const account = parseJson(json)
  if (account.type !== 'service_account') throw new RangeError('is not the JSON of a service account')
  const text = (name: string): string => {
    const value = account[name]
    if (typeof value !== 'string' || !value) throw new RangeError(`has no ${name}`)
    return value
  }
  const tokenUri = URL.parse(typeof account.token_uri === 'string' ? account.token_uri : googleTokenUri)
  if (!tokenUri) throw new RangeError('has a token_uri that is not a URL')
  return {
    projectId: text('project_id'),
    clientEmail: text('client_email'),
    keyId: typeof account.private_key_id === 'string' ? account.private_key_id : undefined,
    key: rsaKey(text('private_key')),
    tokenUri,
  }
}

const googleTokenUri = 'https://oauth2.googleapis.com/token'

function parseJson(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // the error is thrown below, without the text
  }
  throw new RangeError('is not JSON')
}

function rsaKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'rsa') return key
  } catch {
    // the error is thrown below, without the text
  }
  throw new RangeError('has a private_key that is not an RSA key in PEM')
}

/** An access token, or the result of every call that needs one. */
export type AccessToken =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none'; readonly result: SendResult }

/** The access token of a service account, shared by all calls. Concurrent calls share one request for it. */
export interface AccessTokens {
  /** The current token, or a new one shortly before it expires. */
  get(signal: AbortSignal): Promise<AccessToken>
  /** Discards a token that was rejected, so that the next call gets a new one. */
  discard(token: string): void
}

const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const assertionSeconds = 3_600
const renewEarlyMs = 300_000

/** Creates a source of access tokens (RFC 7523 §2.1, RS256), which are renewed five minutes before they expire. */
export function createAccessTokens(account: ServiceAccount, client: HttpClient, clock: Clock): AccessTokens {
  let current: { readonly token: string; readonly renewAt: number } | undefined
  let fetching: Promise<AccessToken> | undefined

  const fetchToken = async (): Promise<AccessToken> => {
    const calledAt = clock.now()
    const fetched = await requestToken(account, client, calledAt)
    if (fetched.kind === 'none') return fetched
    current = { token: fetched.token, renewAt: calledAt + Math.max(0, fetched.lifetimeMs - renewEarlyMs) }
    return { kind: 'token', token: fetched.token }
  }
  return {
    async get(signal) {
      if (current && clock.now() < current.renewAt) return { kind: 'token', token: current.token }
      fetching ??= fetchToken().finally(() => {
        fetching = undefined
      })
      const aborted = Promise.withResolvers<AccessToken>()
      signal.addEventListener('abort', () => aborted.resolve({ kind: 'none', result: timedOut }), { once: true })
      return Promise.race([fetching, aborted.promise])
    },
    discard(token) {
      if (current?.token === token) current = undefined
    },
  }
}

const timedOut: SendResult = { kind: 'transient', reason: 'no access token in time' }

type Fetched =
  | { readonly kind: 'token'; readonly token: string; readonly lifetimeMs: number }
  | { readonly kind: 'none'; readonly result: SendResult }

async function requestToken(account: ServiceAccount, client: HttpClient, now: number): Promise<Fetched> {
  const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  const form = new URLSearchParams({ grant_type: grant, assertion: createAssertion(account, now) })
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  try {
    const request = { method: 'POST', path: '', headers, body: form.toString() } as const
    return tokenIn(await client.request(request, new AbortController().signal), now)
  } catch (error) {
    const result = resultOfError(error)
    return failWith({ kind: 'transient', reason: `the token endpoint: ${'reason' in result ? result.reason : ''}` })
  }
}

function tokenIn(response: HttpResponse, now: number): Fetched {
  const reason = `the token endpoint ${describeResponse(response)}`
  if (response.status === 429 || response.status >= 500)
    return failWith({ kind: 'transient', ...retryAfterOf(response, now), reason })
  if (response.status !== 200) return failWith({ kind: 'misconfigured', reason })
  const body = parseJsonObject(response)
  if (typeof body?.access_token !== 'string' || typeof body.expires_in !== 'number')
    return failWith({ kind: 'transient', reason: 'the token endpoint did not return a token' })
  return { kind: 'token', token: body.access_token, lifetimeMs: body.expires_in * 1_000 }
}

function failWith(result: SendResult): Fetched {
  return { kind: 'none', result }
}

function createAssertion({ clientEmail, keyId, key, tokenUri }: ServiceAccount, now: number): string {
  const issuedAt = Math.floor(now / 1_000)
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) }
  const claims = { iss: clientEmail, scope, aud: tokenUri.href, iat: issuedAt, exp: issuedAt + assertionSeconds }
  return signJwt(header, claims, key)
}
