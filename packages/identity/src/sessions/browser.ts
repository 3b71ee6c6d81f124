import { randomUUID } from 'node:crypto'
import { randomToken, seal, tokenHash, unseal } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sealProviderSession } from '../connections/secrets.ts'
import type { PageContext } from '../context/context.ts'
import { isFromOwnOrigin } from '../http/own-origin.ts'
import { createNotices } from '../mail/notices.ts'
import { chooseFactorStep, type MfaPolicy, usableFactors } from '../model/factors/second-factor.ts'
import type { ProviderSession, Session } from '../model/grants/session.ts'
import type { User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { PageError } from '../pages/page-error.ts'
import type { SignedIn } from '../store/index.ts'
import { cookie, cookieName, readCookies } from './cookies.ts'
import { endSession } from './end-session.ts'

const browserCookie = 'gatehouse_browser'
const sessionCookie = 'gatehouse_session'
const deviceCookie = 'gatehouse_device'
const cookieValue = /^[\w-]{43}$/
const devicePurpose = 'known device'
const knownDeviceSeconds = 365 * 86_400
const maxUserAgentLength = 300

/** A browser, with its signed-in user, if any. */
export interface Browser {
  /** The value of the browser's own cookie, which forms and sign-ins in progress are bound to. */
  readonly id: string
  /** With those of the user's factors that are not switched off. */
  readonly signedIn: SignedIn | undefined
  /**
   * A session that lacks a second factor, because its user enrolled one elsewhere or the policy became stricter. It
   * counts as signed out until the next sign-in, which continues it.
   */
  readonly suspended?: SignedIn | undefined
}

/** What reading browsers and sessions needs. */
export type BrowserContext = Pick<
  PageContext,
  | 'issuer'
  | 'store'
  | 'clock'
  | 'formMac'
  | 'encryptionKey'
  | 'lifetimes'
  | 'secureCookies'
  | 'features'
  | 'mfa'
  | 'builtInClients'
>

/** Reads the browser's cookies, and sets its own when it has none. */
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
  const found = cookieValue.test(secret)
    ? await context.store.sessions.find(tokenHash(secret), context.clock.now(), context.lifetimes.maxSession * 1000)
    : undefined
  if (found === undefined) return { id, signedIn: undefined }
  const { session, user } = found
  const signedIn = { ...found, factors: usableFactors(found.factors, context.features) }
  const policy = await findPolicy(context, user.id)
  const { amr, remembered } = session
  const lacks = chooseFactorStep({ amr, remembered, factors: signedIn.factors, policy })
  return lacks === undefined ? { id, signedIn } : { id, signedIn: undefined, suspended: signedIn }
}

/**
 * Whether a request carries neither the browser's cookie nor a session's, as a form of another site does. Cookies of
 * others, which a browser may send with it, say nothing.
 */
export function comesWithoutCookies(
  { secureCookies }: Pick<BrowserContext, 'secureCookies'>,
  { headers }: FastifyRequest,
): boolean {
  const cookies = readCookies(headers.cookie)
  return ![browserCookie, sessionCookie].some((name) => cookies.has(cookieName(name, secureCookies)))
}

/** The policy that applies to a user everywhere: the strictest of the instance and the user's organizations. */
export async function findPolicy(
  { mfa, store }: Pick<PageContext, 'mfa' | 'store'>,
  userId: string,
): Promise<MfaPolicy> {
  if (mfa === 'required') return mfa
  return (await store.organizations.requiresMfa(userId)) ? 'required' : mfa
}

/** A sign-in with verified credentials. */
export interface SignIn {
  readonly user: User
  readonly amr: readonly string[]
  /** Whether a remembered device stood in for the second factor. */
  readonly remembered?: boolean
  /** When the first way was proven, where a provider says so or only a second factor was added to it. Default: now. */
  readonly authTime?: number | undefined
  /** Whether the user knows this device, where the credentials changed in this very request. */
  readonly isKnown?: boolean | undefined
  /** The account at a provider that the user signed in with. */
  readonly provider?: ProviderSession | undefined
  /**
   * Since when the sign-in waited for its second factor, in Unix milliseconds, where that was proven now. It continues
   * the user's session, or raises it: once that has ended none is started.
   */
  readonly pendingSince?: number | undefined
  /** Who was signed in before. */
  readonly before: Browser['signedIn']
}

/**
 * Signs the user in with a new cookie, which prevents session fixation. The same user's session continues, so that its
 * end reaches every client used in it; another user's session ends. Undefined, without effect, when the credentials
 * that were verified are no longer the account's, or what was proven is void.
 */
export async function signIn(
  context: BrowserContext & Pick<PageContext, 'signalOutbox' | 'branding' | 'mail'>,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    user,
    amr,
    remembered = false,
    authTime: provenAt,
    isKnown = isKnownDevice(context, request, user),
    provider,
    pendingSince,
    before,
  }: SignIn,
): Promise<Session | undefined> {
  const secret = randomToken()
  const { lifetimes, clock } = context
  const now = clock.now()
  const authTime = provenAt ?? now
  // A sign-in at a provider may be older than the session: that shortens no session.
  const expiryOf = (createdAt: number) =>
    Math.min(now + lifetimes.session * 1000, Math.max(authTime, createdAt) + lifetimes.maxSession * 1000)
  const started: Session = {
    id: randomUUID(),
    userId: user.id,
    authTime,
    amr,
    remembered,
    userAgent: readUserAgent(request),
    address: request.ip,
    createdAt: now,
    seenAt: now,
    expiresAt: expiryOf(now),
  }
  const again =
    before?.user.id === user.id
      ? { ...started, id: before.session.id, expiresAt: expiryOf(before.session.createdAt) }
      : undefined
  const { sessions } = context.store
  const version = user.credentialVersion
  const notices = isKnown ? [] : createNotices(context, { user, kind: 'new_device', request })
  // A logout in the millisecond in which the exchange began may be older: only a sign-in that waited is void by it.
  const through =
    provider && sealProviderSession(context.encryptionKey, { ...provider, since: pendingSince ?? provider.since + 1 })
  const waited = pendingSince !== undefined
  const record = { messages: notices, isNewDevice: !isKnown, provider: through, waited, clock }
  const renewed = again !== undefined && (await sessions.renew(again, tokenHash(secret), version, record))
  const mayStart = again === undefined || !waited
  if (!renewed && !(mayStart && (await sessions.start(started, tokenHash(secret), version, record)))) return undefined
  if (notices.length > 0) context.signalOutbox()
  if (before !== undefined && again === undefined) await endSession(context, before.session.id, before.user.id)
  setSessionCookie(context, reply, secret)
  markKnownDevice(context, reply, user)
  return renewed ? again : started
}

/**
 * Marks the browser as one in which the user signed in with the current credentials. A browser that was marked for this
 * user before stays the same device, whose attempts are counted on.
 */
function markKnownDevice(context: BrowserContext, reply: FastifyReply, user: DeviceUser): void {
  setDeviceCookie(context, reply, user, deviceOf(context, reply.request, user) ?? randomToken())
}

/**
 * Keeps a browser that was marked for the user known after their credentials changed. One that was not stays unknown: a
 * new device, with attempts of its own, comes by signing in alone.
 */
export function keepKnownDevice(context: BrowserContext, reply: FastifyReply, user: DeviceUser): void {
  const deviceId = deviceOf(context, reply.request, user)
  if (deviceId !== undefined) setDeviceCookie(context, reply, user, deviceId)
}

type DeviceUser = Pick<User, 'id' | 'credentialVersion'>

/** The id of the device that the browser was marked as for this user, with whatever credentials. */
function deviceOf(context: BrowserContext, request: FastifyRequest, { id }: DeviceUser): string | undefined {
  const device = openDevice(context, request)
  return device?.userId === id ? device.deviceId : undefined
}

function setDeviceCookie(
  context: BrowserContext,
  reply: FastifyReply,
  { id, credentialVersion }: DeviceUser,
  deviceId: string,
): void {
  const device = seal(JSON.stringify([id, credentialVersion, deviceId]), context.encryptionKey, devicePurpose)
  const options = { secure: context.secureCookies, maxAgeSeconds: knownDeviceSeconds }
  setCookie(reply, cookie(deviceCookie, device, options))
}

/** Sends the cookie of a session, in place of the one before. */
export function setSessionCookie(
  { lifetimes, secureCookies: secure }: Pick<BrowserContext, 'lifetimes' | 'secureCookies'>,
  reply: FastifyReply,
  secret: string,
): void {
  setCookie(reply, cookie(sessionCookie, secret, { secure, maxAgeSeconds: lifetimes.maxSession }))
}

/** Deletes the session's cookie. */
export function clearSessionCookie({ secureCookies }: BrowserContext, reply: FastifyReply): void {
  setCookie(reply, cookie(sessionCookie, '', { secure: secureCookies, maxAgeSeconds: 0 }))
}

/** Whether the user signed in with this browser before, with the current credentials. */
export function isKnownDevice(context: BrowserContext, request: FastifyRequest, user: User | undefined): boolean {
  return findKnownDevice(context, request, user) !== undefined
}

/**
 * The id of the device, if the user signed in with it before, with the current credentials. It is sealed in the cookie,
 * so a copy of the cookie has the same id, whatever other cookies come with it.
 */
export function findKnownDevice(
  context: BrowserContext,
  request: FastifyRequest,
  user: User | undefined,
): string | undefined {
  if (user === undefined) return undefined
  const device = openDevice(context, request)
  return device?.userId === user.id && device.version === user.credentialVersion ? device.deviceId : undefined
}

/** Whose device the browser was marked as, with which credentials; undefined without a cookie that names a device. */
function openDevice(
  { encryptionKey, secureCookies }: BrowserContext,
  request: FastifyRequest,
): { readonly userId: string; readonly version: string; readonly deviceId: string } | undefined {
  const sealed = readCookies(request.headers.cookie).get(cookieName(deviceCookie, secureCookies))
  if (sealed === undefined || sealed.length > 1_000) return undefined
  try {
    const [userId, version, deviceId] = JSON.parse(unseal(sealed, encryptionKey, devicePurpose))
    return typeof deviceId === 'string' ? { userId, version, deviceId } : undefined
  } catch {
    return undefined
  }
}

/** The token that proves that a form comes from our page in this browser and session (CSRF). */
export function formToken({ formMac }: Pick<PageContext, 'formMac'>, browser: Browser): string {
  return formMac.sign(formText(browser))
}

function formText({ id, signedIn }: Browser): string {
  return `${id} ${signedIn?.session.id ?? ''}`
}

/** Whether a form was made for this browser and session. Where a form has effects, {@link checkForm} asks more. */
export function isFormOf({ formMac }: Pick<PageContext, 'formMac'>, browser: Browser, parameters: Parameters): boolean {
  return formMac.verify(formText(browser), parameters.get('form_token') ?? '')
}

/** Rejects a form that another site sent, or that was created for another browser or session. @throws PageError 403 */
export function checkForm(
  context: BrowserContext,
  request: FastifyRequest,
  browser: Browser,
  parameters: Parameters,
): void {
  const own = request.headers.origin === undefined || isFromOwnOrigin(context, request)
  const site = request.headers['sec-fetch-site']
  if (!own || site === 'cross-site' || !isFormOf(context, browser, parameters)) {
    throw new PageError(403, 'error.form')
  }
}

/** The User-Agent header, shortened to what is stored. */
export function readUserAgent(request: FastifyRequest): string {
  return (request.headers['user-agent'] ?? '').slice(0, maxUserAgentLength)
}

/** Adds a Set-Cookie header to those of the reply. */
export function setCookie(reply: FastifyReply, value: string): void {
  const before = reply.getHeader('set-cookie') ?? []
  reply.header('set-cookie', [...[before].flat().map(String), value])
}
