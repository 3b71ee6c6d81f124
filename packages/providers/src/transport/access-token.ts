import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { Clock } from '../model/clock.ts'
import type { SendResult } from '../model/provider.ts'
import { describeResponse, type HttpClient, parseJsonObject, parseRetryAfter, resultOfError } from './http.ts'

/** What a Google service account's JSON tells that we need. */
export interface ServiceAccount {
  readonly projectId: string
  readonly clientEmail: string
  readonly keyId: string | undefined
  readonly key: KeyObject
  readonly tokenUri: URL
}

/** Reads a service account's JSON. Throws RangeError saying what of it can't be used; never what it holds. */
export function readServiceAccount(json: string): ServiceAccount {
  const account = parseJson(json)
  if (account.type !== 'service_account') throw new RangeError('is not the JSON of a service account')
  const text = (name: string): string => {
    const value = account[name]
    if (typeof value !== 'string' || !value) throw new RangeError(`has no ${name}`)
    return value
  }
  const tokenUri = URL.parse(typeof account.token_uri === 'string' ? account.token_uri : googleTokenUri)
  if (!tokenUri) throw new RangeError('has a token_uri that is no address')
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
    // said below, without the text
  }
  throw new RangeError('is not JSON')
}

function rsaKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'rsa') return key
  } catch {
    // said below, without the text
  }
  throw new RangeError('has a private_key that is no RSA key in PEM')
}

/** A token to call with, or what to answer when there is none. */
export type AccessToken =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none'; readonly result: SendResult }

/** The access token of a service account: one for all calls, fetched once for all who ask at the same time. */
export interface AccessTokens {
  get(signal: AbortSignal): Promise<AccessToken>
  /** Forgets a token that was refused. */
  discard(token: string): void
}

const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const assertionSeconds = 3_600
const renewEarlyMs = 300_000

/** Access tokens by a signed assertion (RFC 7523, RS256), renewed five minutes before they expire. */
export function createAccessTokens(account: ServiceAccount, caller: HttpClient, clock: Clock): AccessTokens {
  let current: { readonly token: string; readonly renewAt: number } | undefined
  let fetching: Promise<AccessToken> | undefined

  const fetchToken = async (): Promise<AccessToken> => {
    const calledAt = clock.now()
    const fetched = await requestToken(account, caller, calledAt)
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

const timedOut: SendResult = { kind: 'transient', reason: 'no access token came in time' }

type Fetched =
  | { readonly kind: 'token'; readonly token: string; readonly lifetimeMs: number }
  | { readonly kind: 'none'; readonly result: SendResult }

async function requestToken(account: ServiceAccount, caller: HttpClient, now: number): Promise<Fetched> {
  const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  const form = new URLSearchParams({ grant_type: grant, assertion: createAssertion(account, now) })
  try {
    const answer = await caller.request(
      {
        method: 'POST',
        path: '',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: form.toString(),
      },
      new AbortController().signal,
    )
    const reason = `the token endpoint ${describeResponse(answer)}`
    if (answer.status === 429 || answer.status >= 500) {
      const pause = parseRetryAfter(answer, now)
      return failed({ kind: 'transient', ...(pause === undefined ? {} : { retryAfterMs: pause }), reason })
    }
    if (answer.status !== 200) return failed({ kind: 'misconfigured', reason })
    const body = parseJsonObject(answer)
    if (typeof body?.access_token !== 'string' || typeof body.expires_in !== 'number')
      return failed({ kind: 'transient', reason: 'the token endpoint answered no token' })
    return { kind: 'token', token: body.access_token, lifetimeMs: body.expires_in * 1_000 }
  } catch (error) {
    const result = resultOfError(error)
    return failed({ kind: 'transient', reason: `the token endpoint gave ${'reason' in result ? result.reason : ''}` })
  }
}

function failed(result: SendResult): Fetched {
  return { kind: 'none', result }
}

function createAssertion({ clientEmail, keyId, key, tokenUri }: ServiceAccount, now: number): string {
  const issuedAt = Math.floor(now / 1_000)
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) }
  const claims = { iss: clientEmail, scope, aud: tokenUri.href, iat: issuedAt, exp: issuedAt + assertionSeconds }
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
}
