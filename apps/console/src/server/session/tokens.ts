import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, type KeyRing, UnknownKeyError } from '@gatehouse/kit'
import type { Provider } from '../provider/provider.ts'
import { openTokens, sealTokens } from './reader.ts'
import type { Session, SessionTokens } from './session.ts'
import type { ConsoleStore } from './store.ts'

/** The access tokens of sessions. */
export interface AccessTokens {
  /**
   * A valid access token of the session, refreshed where it expires soon; undefined when the session has ended, as it does
   * when no key opens its tokens any more. Of several requests, in this process and others, one refreshes and the others
   * take what it got.
   * @throws an error when the provider cannot be reached and the token has expired
   */
  current(session: Session): Promise<string | undefined>
  /** The token after `refused`, which a service does not accept any more. */
  renewed(session: Session): Promise<string | undefined>
}

interface TokenOptions {
  readonly store: ConsoleStore
  readonly provider: Provider
  readonly key: KeyRing
  readonly clock: Clock
  /** Called when a session ended because its grant did, or no key opens its tokens. */
  readonly onEnd: (idHash: string) => void
}

/** A token is refreshed this long before it expires, in milliseconds. */
const earlyMs = 30_000
/**
 * The right to refresh lasts a little longer than the call may, and less than the grace in which the provider answers a
 * repeat of the old token with the same new one: a holder that died costs a wait, not the session.
 */
const refreshLeaseMs = 6_000
const pollMs = 50

/** Creates the access to tokens with single-flight refreshes. */
export function createAccessTokens(options: TokenOptions): AccessTokens {
  const { key, clock } = options
  const underWay = new Map<string, Promise<Session | undefined>>()

  const refreshOnce = (session: Session): Promise<Session | undefined> => {
    const flight = `${session.idHash} ${session.generation}`
    const found = underWay.get(flight)
    if (found !== undefined) return found
    const refresh = refreshOrWait(options, session).finally(() => underWay.delete(flight))
    underWay.set(flight, refresh)
    return refresh
  }

  const next = async (session: Session): Promise<string | undefined> => {
    const refreshed = await refreshOnce(session)
    return refreshed && openTokens(refreshed, key).accessToken
  }

  const current = async (session: Session): Promise<string | undefined> => {
    const now = clock.now()
    if (session.tokensExpireAt - earlyMs > now) return openTokens(session, key).accessToken
    try {
      return await next(session)
    } catch (error) {
      if (session.tokensExpireAt > now) return openTokens(session, key).accessToken
      throw error
    }
  }

  return {
    renewed: (session) => endIfSealed(options, session, next),
    current: (session) => endIfSealed(options, session, current),
  }
}

/** Ends the session when its tokens are sealed with a key that was replaced: nothing brings them back. */
async function endIfSealed(
  parts: TokenOptions,
  session: Session,
  read: (session: Session) => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await read(session)
  } catch (error) {
    if (!(error instanceof UnknownKeyError)) throw error
    return end(parts, session)
  }
}

async function end({ store, onEnd }: TokenOptions, { idHash }: Session): Promise<undefined> {
  await store.sessions.end(idHash)
  onEnd(idHash)
}

async function refreshOrWait(parts: TokenOptions, session: Session): Promise<Session | undefined> {
  const { store, clock } = parts
  const until = performance.now() + 2 * refreshLeaseMs
  while (performance.now() < until) {
    const now = clock.now()
    if (await store.refreshes.acquire(session, now, now + refreshLeaseMs)) return refresh(parts, session)
    const found = await store.sessions.find(session.idHash, now)
    if (found === undefined || found.generation !== session.generation) return found
    await pause(pollMs)
  }
  throw new Error('the tokens of a session are being refreshed for too long')
}

async function refresh(parts: TokenOptions, session: Session): Promise<Session | undefined> {
  const { store, provider, key } = parts
  const { idHash } = session
  try {
    const tokens = await provider.refresh(openTokens(session, key).refreshToken)
    if (tokens === undefined) return await end(parts, session)
    const next = {
      idHash,
      generation: session.generation + 1,
      tokensSealed: sealTokens(idHash, tokens, key),
      tokensExpireAt: tokens.expiresAt,
    }
    if (await store.refreshes.store(next)) return { ...session, ...next }
    return await afterLostRefresh(parts, session, tokens)
  } catch (error) {
    await store.refreshes.release(session)
    throw error
  }
}

/** The session was refreshed elsewhere after the lease of this process, or ended: then nobody holds the new tokens. */
async function afterLostRefresh(
  { store, provider, clock }: TokenOptions,
  { idHash }: Session,
  { refreshToken }: SessionTokens,
): Promise<Session | undefined> {
  const found = await store.sessions.find(idHash, clock.now())
  if (found === undefined) await provider.revoke(refreshToken).catch(() => {})
  return found
}
