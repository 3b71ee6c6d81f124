import { randomUUID } from 'node:crypto'
import { constantTimeEqual, randomToken, seal, tokenHash, unseal } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookie, cookieName, readCookies } from './cookies.ts'
import { PageError } from './pages/page-error.ts'
import type { Parameters } from './parameters.ts'
import type { Parts } from './parts.ts'
import type { Session } from './session.ts'
import type { User } from './user.ts'

const browserCookie = 'gatehouse_browser'
const sessionCookie = 'gatehouse_session'
const deviceCookie = 'gatehouse_device'
const cookieValue = /^[\w-]{43}$/
const knownDeviceSeconds = 365 * 86_400
const longestUserAgent = 300

/** Who sits at the other end of a page: the browser, and the user who is signed in there, if any. */
export interface Browser {
  /** The value of the browser's own cookie: what forms and begun logins are bound to. */
  readonly id: string
  readonly signedIn: { readonly session: Session; readonly user: User } | undefined
}

export type BrowserParts = Pick<
  Parts,
  'issuer' | 'store' | 'clock' | 'formMac' | 'encryptionKey' | 'lifetimes' | 'secureCookies'
>

/** Reads the browser's cookies, and gives it one of its own when it has none. */
export async function readBrowser(parts: BrowserParts, request: FastifyRequest, reply: FastifyReply): Promise<Browser> {
  const cookies = readCookies(request.headers.cookie)
  const known = cookies.get(cookieName(browserCookie, parts.secureCookies)) ?? ''
  const id = cookieValue.test(known) ? known : randomToken()
  if (id !== known) setCookie(reply, cookie(browserCookie, id, { secure: parts.secureCookies }))
  const secret = cookies.get(cookieName(sessionCookie, parts.secureCookies)) ?? ''
  const signedIn = cookieValue.test(secret)
    ? await parts.store.sessions.find(tokenHash(secret), parts.clock.now())
    : undefined
  return { id, signedIn }
}

/** Starts a session for the user, with an id of its own whatever the browser had before. */
export async function signIn(
  parts: BrowserParts,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  amr: readonly string[],
): Promise<Session> {
  const secret = randomToken()
  const now = parts.clock.now()
  const session: Session = {
    id: randomUUID(),
    userId: user.id,
    authTime: now,
    amr,
    userAgent: userAgentOf(request),
    address: request.ip,
    createdAt: now,
    seenAt: now,
    expiresAt: now + parts.lifetimes.session * 1000,
  }
  await parts.store.sessions.start(session, tokenHash(secret))
  const secure = parts.secureCookies
  setCookie(reply, cookie(sessionCookie, secret, { secure, maxAgeSeconds: parts.lifetimes.session }))
  const device = seal(JSON.stringify([user.id, user.passwordChangedAt]), parts.encryptionKey, 'known device')
  setCookie(reply, cookie(deviceCookie, device, { secure, maxAgeSeconds: knownDeviceSeconds }))
  return session
}

/** Takes the session's cookie away. */
export function forgetSession({ secureCookies }: BrowserParts, reply: FastifyReply): void {
  setCookie(reply, cookie(sessionCookie, '', { secure: secureCookies, maxAgeSeconds: 0 }))
}

/** Whether this browser signed in as the user before, with the password the user still has. */
export function isKnownDevice(parts: BrowserParts, request: FastifyRequest, user: User | undefined): boolean {
  const sealed = readCookies(request.headers.cookie).get(cookieName(deviceCookie, parts.secureCookies))
  if (sealed === undefined || user === undefined || sealed.length > 1_000) return false
  try {
    const [id, passwordChangedAt] = JSON.parse(unseal(sealed, parts.encryptionKey, 'known device'))
    return id === user.id && passwordChangedAt === user.passwordChangedAt
  } catch {
    return false
  }
}

/** What a form of this browser carries to prove that it is ours: another browser, or another session, has another. */
export function formToken({ formMac }: Pick<Parts, 'formMac'>, { id, signedIn }: Browser): string {
  return formMac.of(`${id} ${signedIn?.session.id ?? ''}`)
}

/** Refuses a form that another site sent, or that was made for another browser or session. @throws PageError 403 */
export function checkForm(
  parts: BrowserParts,
  request: FastifyRequest,
  browser: Browser,
  parameters: Parameters,
): void {
  const { origin, host } = request.headers
  const own = origin === undefined || origin === new URL(parts.issuer).origin || URL.parse(origin)?.host === host
  const site = request.headers['sec-fetch-site']
  const token = parameters.get('form_token') ?? ''
  if (!own || site === 'cross-site' || !constantTimeEqual(token, formToken(parts, browser))) {
    throw new PageError(403, 'error.form')
  }
}

export function userAgentOf(request: FastifyRequest): string {
  return (request.headers['user-agent'] ?? '').slice(0, longestUserAgent)
}

function setCookie(reply: FastifyReply, value: string): void {
  const before = reply.getHeader('set-cookie') ?? []
  reply.header('set-cookie', [...[before].flat().map(String), value])
}
