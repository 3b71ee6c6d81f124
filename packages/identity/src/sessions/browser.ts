import { randomUUID } from 'node:crypto'
import { randomToken, seal, tokenHash, unseal } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PageContext } from '../context/context.ts'
import type { Session } from '../model/session.ts'
import type { User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { PageError } from '../pages/page-error.ts'
import { cookie, cookieName, readCookies } from './cookies.ts'
import { endSession } from './end-session.ts'

const browserCookie = 'gatehouse_browser'
const sessionCookie = 'gatehouse_session'
const deviceCookie = 'gatehouse_device'
const cookieValue = /^[\w-]{43}$/
const knownDeviceSeconds = 365 * 86_400
const maxUserAgentLength = 300

/** Who sits at the other end of a page: the browser, and the user who is signed in there, if any. */
export interface Browser {
  /** The value of the browser's own cookie: what forms and begun logins are bound to. */
  readonly id: string
  readonly signedIn: { readonly session: Session; readonly user: User } | undefined
}

export type BrowserContext = Pick<
  PageContext,
  'issuer' | 'store' | 'clock' | 'formMac' | 'encryptionKey' | 'lifetimes' | 'secureCookies'
>

/** Reads the browser's cookies, and gives it one of its own when it has none. */
export async function readBrowser(
  context: BrowserContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Browser> {
  const cookies = readCookies(request.headers.cookie)
  const known = cookies.get(cookieName(browserCookie, context.secureCookies)) ?? ''
  const id = cookieValue.test(known) ? known : randomToken()
  if (id !== known) setCookie(reply, cookie(browserCookie, id, { secure: context.secureCookies }))
  const secret = cookies.get(cookieName(sessionCookie, context.secureCookies)) ?? ''
  const signedIn = cookieValue.test(secret)
    ? await context.store.sessions.find(tokenHash(secret), context.clock.now(), context.lifetimes.maxSession * 1000)
    : undefined
  return { id, signedIn }
}

export interface SignIn {
  readonly user: User
  readonly amr: readonly string[]
  /** Who was signed in here until now. */
  readonly before: Browser['signedIn']
}

/**
 * Signs the user in, under a new cookie whatever the browser had before. The same user's session goes on, so that its end is
 * told to all who were used in it; another's ends. Undefined, and nothing is changed, when the credentials that `user` was
 * verified by are no longer the account's.
 */
export async function signIn(
  context: BrowserContext & Pick<PageContext, 'signalOutbox'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { user, amr, before }: SignIn,
): Promise<Session | undefined> {
  const secret = randomToken()
  const { lifetimes, clock, secureCookies: secure } = context
  const now = clock.now()
  const started: Session = {
    id: randomUUID(),
    userId: user.id,
    authTime: now,
    amr,
    userAgent: readUserAgent(request),
    address: request.ip,
    createdAt: now,
    seenAt: now,
    expiresAt: now + Math.min(lifetimes.session, lifetimes.maxSession) * 1000,
  }
  const again = before?.user.id === user.id ? { ...started, id: before.session.id } : undefined
  const { sessions } = context.store
  const version = user.credentialVersion
  const renewed = again !== undefined && (await sessions.renew(again, tokenHash(secret), version))
  const session = renewed ? again : started
  if (!renewed && !(await sessions.start(session, tokenHash(secret), version))) return undefined
  if (before !== undefined && again === undefined) await endSession(context, before.session.id, before.user.id)
  setCookie(reply, cookie(sessionCookie, secret, { secure, maxAgeSeconds: lifetimes.maxSession }))
  const device = seal(JSON.stringify([user.id, version]), context.encryptionKey, 'known device')
  setCookie(reply, cookie(deviceCookie, device, { secure, maxAgeSeconds: knownDeviceSeconds }))
  return session
}

/** Takes the session's cookie away. */
export function clearSessionCookie({ secureCookies }: BrowserContext, reply: FastifyReply): void {
  setCookie(reply, cookie(sessionCookie, '', { secure: secureCookies, maxAgeSeconds: 0 }))
}

/** Whether this browser signed in as the user before, with the credentials the user still has. */
export function isKnownDevice(context: BrowserContext, request: FastifyRequest, user: User | undefined): boolean {
  const sealed = readCookies(request.headers.cookie).get(cookieName(deviceCookie, context.secureCookies))
  if (sealed === undefined || user === undefined || sealed.length > 1_000) return false
  try {
    const [id, version] = JSON.parse(unseal(sealed, context.encryptionKey, 'known device'))
    return id === user.id && version === user.credentialVersion
  } catch {
    return false
  }
}

/** What a form of this browser carries to prove that it is ours: another browser, or another session, has another. */
export function formToken({ formMac }: Pick<PageContext, 'formMac'>, browser: Browser): string {
  return formMac.sign(formText(browser))
}

function formText({ id, signedIn }: Browser): string {
  return `${id} ${signedIn?.session.id ?? ''}`
}

/** Refuses a form that another site sent, or that was made for another browser or session. @throws PageError 403 */
export function checkForm(
  context: BrowserContext,
  request: FastifyRequest,
  browser: Browser,
  parameters: Parameters,
): void {
  const { origin, host } = request.headers
  const own = origin === undefined || origin === new URL(context.issuer).origin || URL.parse(origin)?.host === host
  const site = request.headers['sec-fetch-site']
  const token = parameters.get('form_token') ?? ''
  if (!own || site === 'cross-site' || !context.formMac.verify(formText(browser), token)) {
    throw new PageError(403, 'error.form')
  }
}

export function readUserAgent(request: FastifyRequest): string {
  return (request.headers['user-agent'] ?? '').slice(0, maxUserAgentLength)
}

function setCookie(reply: FastifyReply, value: string): void {
  const before = reply.getHeader('set-cookie') ?? []
  reply.header('set-cookie', [...[before].flat().map(String), value])
}
