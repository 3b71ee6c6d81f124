import type { Credentials } from '../call/credentials.ts'
import { retryAfterOf } from '../errors/api-error.ts'
import { isNoAnswer, OAuthError } from '../errors/gatehouse-error.ts'
import { inFlightMs, TokenCache } from '../oauth/token-cache.ts'
import { TokenEndpoint, type TokenEndpointOptions } from '../oauth/token-endpoint.ts'
import type { Platform } from '../platform/platform.ts'
import { within } from '../platform/waiting.ts'
import { bearerHeaders, bearerToken } from './bearer-header.ts'

/** The tokens of a user who signed in. */
export interface UserTokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** Where the tokens of a user are kept. */
export interface TokenStore {
  /**
   * The tokens; undefined when nobody is signed in. Called before each call and around a refresh, so that a sign-out, and
   * the sign-in of another user, take effect at once.
   */
  load(): UserTokens | undefined | Promise<UserTokens | undefined>
  /** Keeps new tokens in place of the old ones. They are used once this has resolved. */
  save(tokens: UserTokens): void | Promise<void>
  /**
   * Runs one refresh at a time where several processes or pages share the store: a database lock, or Web Locks. A refresh
   * token that is used twice ends the sign-in. Default: one at a time in this process. Empty or fill the store by the same
   * lock: otherwise, a sign-out between the last `load` of a refresh and its `save` is undone.
   */
  exclusively?<Result>(refresh: () => Promise<Result>): Promise<Result>
}

const freshMs = 60_000
/** Twice this is less than the grace of an issuer, 10 s by default, in which it answers a repeat with the same tokens. */
const repeatAfterMs = 4_000
const maxRequests = 3

/**
 * The tokens of a user, renewed by their refresh token (RFC 6749 §6) a minute before they expire. Rotated refresh tokens
 * are saved before the new access token is used; where the process ends in between, the issuer accepts the old one for
 * its grace period. Calls go on with the tokens that the store holds then; what a refresh brings after it was emptied, or
 * holds others, is dropped. A refresh without an answer is asked for again beside it after 4 and 8 s: the answer may have
 * been lost, and after the grace period the old token ends the sign-in. A store that never answers holds up the calls,
 * each until its timeout.
 *
 * @throws TypeError when the issuer is neither https nor on loopback
 * @example
 * ```ts
 * const credentials = refreshing(store, { issuer: 'https://auth.example.com', clientId: 'web' })
 * ```
 */
export function refreshing(store: TokenStore, options: TokenEndpointOptions): Credentials {
  const endpoint = new TokenEndpoint(options)
  let refused = ''

  const load = async (platform: Platform): Promise<UserTokens> => {
    const tokens = await store.load()
    if (tokens !== undefined) return tokens
    cache.follow(undefined, platform)
    throw new OAuthError('login_required', 'there are no tokens in the store')
  }

  const isUsable = ({ clock }: Platform, tokens: UserTokens, minMs: number) =>
    tokens.accessToken !== refused && clock.now() < tokens.expiresAt - minMs

  /** A token of the store that nothing is wrong with, or a new one. */
  const loadOrRefresh = async (platform: Platform): Promise<UserTokens> => {
    const before = await load(platform)
    if (isUsable(platform, before, freshMs)) return before
    const refresh = async (): Promise<UserTokens> => {
      const tokens = await load(platform)
      // Another process may have been first.
      return isUsable(platform, tokens, freshMs) ? tokens : renew(platform, tokens)
    }
    return store.exclusively ? store.exclusively(refresh) : refresh()
  }

  const renew = async (platform: Platform, { refreshToken }: UserTokens): Promise<UserTokens> => {
    const answer = withRepeats(platform, () =>
      endpoint.request(platform, { grant_type: 'refresh_token', refresh_token: refreshToken }),
    )
    await answer.catch(() => {})
    const stored = await load(platform)
    // The user signed out meanwhile and another one in, or another process was first: what is stored stays.
    if (stored.refreshToken !== refreshToken)
      return isUsable(platform, stored, inFlightMs) ? stored : renew(platform, stored)
    const issued = await answer
    const tokens = { ...issued, refreshToken: issued.refreshToken ?? refreshToken }
    await store.save(tokens)
    return tokens
  }

  const cache = new TokenCache(loadOrRefresh, { isStored: true })
  return {
    async headers(platform) {
      const stored = await load(platform)
      cache.follow(stored.accessToken === refused ? undefined : stored, platform)
      return bearerHeaders(await cache.current(platform))
    },
    discard(fields) {
      refused = bearerToken(fields)
      cache.discard(refused)
      return true
    },
  }
}

/**
 * A request, and the same again: twice beside it while nothing comes, and at once where it fails without an answer of the
 * issuer. The first that succeeds counts.
 */
async function withRepeats<Result>({ clock }: Platform, request: () => Promise<Result>): Promise<Result> {
  const requests: Promise<Result>[] = []
  for (;;) {
    requests.push(request())
    const first = Promise.any(requests)
    try {
      if (requests.length === maxRequests) return await first
      const answer = await within(clock, repeatAfterMs, first)
      if (answer !== undefined) return answer.value
    } catch (error) {
      const { errors } = error as AggregateError
      const refusal = errors.find((each) => !isNoAnswer(each) || retryAfterOf(each) > 0)
      if (refusal !== undefined || requests.length > 1) throw refusal ?? errors[0]
    }
  }
}
