import { type Clock, type KeyRing, seal, unseal } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { ConsoleContext } from '../context.ts'
import { formatCookie, readCookie } from '../cookies.ts'
import { readSession } from '../session/reader.ts'

/** How long a browser is known after a sign-in, in seconds: 90 days. */
const knownSeconds = 90 * 86_400
const purpose = 'console known browser'

/** The Set-Cookie value by which a browser that has just signed in is known later. It names nobody. */
export function knownBrowserCookie({ clock, encryptionKey, secure }: ConsoleContext): string {
  const value = seal(String(clock.now() + knownSeconds * 1000), encryptionKey, purpose)
  return formatCookie('gatehouse-console-known', value, { secure, sameSite: 'Lax', maxAgeSeconds: knownSeconds })
}

/** Whether a browser has a live session, or has signed in here before: strangers cannot keep it from signing in. */
export async function isKnownBrowser(context: ConsoleContext, { headers }: FastifyRequest): Promise<boolean> {
  const { clock, encryptionKey, secure, store } = context
  const cookie = readCookie(headers.cookie, 'gatehouse-console-known', secure)
  if (cookie !== undefined && isUnexpired(cookie, encryptionKey, clock)) return true
  return (await readSession({ sessions: store.sessions, clock, secure }, headers, false)) !== undefined
}

function isUnexpired(cookie: string, key: KeyRing, clock: Clock): boolean {
  try {
    return Number(unseal(cookie, key, purpose)) > clock.now()
  } catch {
    return false
  }
}
