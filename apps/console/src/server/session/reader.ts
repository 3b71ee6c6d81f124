import type { IncomingHttpHeaders } from 'node:http'
import { type Clock, type KeyRing, seal, tokenHash, unseal } from '@gatehouse/kit'
import { readCookie } from '../cookies.ts'
import { type Session, type SessionTokens, sealingPurpose } from './session.ts'
import type { Sessions } from './store.ts'

/** How often the use of a session is recorded at most, in milliseconds. */
const touchEveryMs = 60_000

interface ReaderOptions {
  readonly sessions: Sessions
  readonly clock: Clock
  readonly secure: boolean
}

/** The hash of the session id in the cookies of a request. */
export function sessionHash(cookies: string | undefined, secure: boolean): string | undefined {
  const id = readCookie(cookies, 'gatehouse-console', secure)
  return id === undefined || id.length > 100 ? undefined : tokenHash(id)
}

/**
 * The live session of a request. Its use is recorded unless the page says that it asks by itself, with nobody there;
 * `isUse` is false for what a page opens again by itself and cannot say it of.
 */
export async function readSession(
  { sessions, clock, secure }: ReaderOptions,
  headers: IncomingHttpHeaders,
  isUse = headers['x-console-unattended'] === undefined,
): Promise<Session | undefined> {
  const idHash = sessionHash(headers.cookie, secure)
  if (idHash === undefined) return undefined
  const now = clock.now()
  const session = await sessions.find(idHash, now)
  if (isUse && session !== undefined && session.seenAt + touchEveryMs <= now) await sessions.touch(idHash, now)
  return session
}

/** Seals the tokens of a session for its row. */
export function sealTokens(idHash: string, tokens: SessionTokens, key: KeyRing): string {
  return seal(JSON.stringify(tokens), key, sealingPurpose(idHash))
}

/** The tokens of a session. @throws UnknownKeyError when the key is missing */
export function openTokens({ idHash, tokensSealed }: Session, key: KeyRing): SessionTokens {
  return JSON.parse(unseal(tokensSealed, key, sealingPurpose(idHash))) as SessionTokens
}
