import { randomUUIDv7 } from 'node:crypto'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { pass } from '../config/attempt-limits.ts'
import type { Parts } from '../context/context.ts'
import { pageParameters } from '../http/page-route.ts'
import { type Access, onPage } from '../model/consent.ts'
import type { GrantRecord } from '../model/grant.ts'
import { longestAccessTokenMs } from '../model/revocation-times.ts'
import { apisFor, grantResources } from '../oauth/resource.ts'
import { nothingLeft, permittedScopes } from '../oauth/scope.ts'
import { deviceConfirmPage, devicePage } from '../pages/device-pages.ts'
import { messagePage } from '../pages/error-page.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { openContinuation, sealContinuation } from '../sessions/continuation.ts'
import { signInFirst } from '../sessions/require-sign-in.ts'
import type { DeviceRequest } from '../store/index.ts'
import { readUserCode, userCodeHash } from './user-code.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** GET /device: where a user types the code. A code in the address is filled in, never sent by itself. */
export function devicePageEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(parts, request, reply)
    const parameters = pageParameters(request)
    const sealed = parameters.get('continuation')
    const form = sealed === undefined ? parameters.form : openContinuation(parts, browser, sealed).request
    if (browser.signedIn === undefined) {
      const code = readUserCode(parameters.get('user_code'))
      return signInFirst(parts, request, reply, browser, '/device', code === undefined ? {} : { user_code: code })
    }
    const texts = textsFor(parts, request)
    const code = readUserCode(typeof form.user_code === 'string' ? form.user_code : undefined)
    return sendPage(parts, reply, texts, devicePage(texts, { formToken: formToken(parts, browser), code }))
  }
}

/** POST /device: takes the code, binds it to this session and asks. Attempts are counted. */
export function deviceCodeEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const { browser, signedIn } = await readSignedIn(parts, request, reply)
    const typed = parameters.get('user_code')
    const texts = textsFor(parts, request)
    const refuse = (text: string, status: number, values: Record<string, string> = {}) => {
      const page = { formToken: formToken(parts, browser), code: typed?.slice(0, 20), status }
      return sendPage(parts, reply, texts, devicePage(texts, { ...page, wrong: texts.say(text, values) }))
    }
    try {
      await pass(parts.limit, [
        ['device-code', { user: signedIn.user.id }],
        ['device-code-address', { address: request.ip }],
      ])
    } catch (error) {
      if (!(error instanceof PageError)) throw error
      const seconds = error.headers['retry-after'] ?? ''
      reply.header('retry-after', seconds)
      return refuse('device.limited', 429, { seconds })
    }
    const code = readUserCode(typed)
    const found = code && (await claim(parts, code, signedIn))
    const client = found && (await parts.clients.find(found.clientId))
    if (!code || !found || !client) return refuse('device.unknown', 400)
    const scopes = permittedScopes(found.scopes, client, signedIn.user)
    if (nothingLeft(found.scopes, scopes)) {
      await deny(parts, request, found, signedIn)
      return sendPage(parts, reply, texts, messagePage(texts, 'device.powerless'))
    }
    const shown = { scopes, resources: apisFor(parts, scopes, found.resources), claims: [] }
    const page = deviceConfirmPage(texts, {
      formToken: formToken(parts, browser),
      continuation: continuationOf(parts, browser, signedIn, { code, shown }),
      code,
      client: client.name,
      user: signedIn.user.email ?? signedIn.user.username,
      access: onPage(parts, shown),
      address: found.address,
      userAgent: found.userAgent,
    })
    return sendPage(parts, reply, texts, page)
  }
}

function continuationOf(
  parts: Parts,
  browser: Browser,
  { session }: SignedIn,
  { code, shown }: { readonly code: string; readonly shown: Access },
): string {
  return sealContinuation(parts, browser, {
    to: '/device',
    request: { user_code: code },
    startedAt: parts.clock.now(),
    consentIn: session.id,
    shown,
  })
}

/**
 * POST /device/decision: what the session that entered the code decided on the page that asked it, and on no other,
 * about the scopes which that page named.
 */
export function deviceDecisionEndpoint(parts: Parts): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const { browser, signedIn } = await readSignedIn(parts, request, reply)
    const continuation = openContinuation(parts, browser, parameters.get('continuation'))
    const { shown } = continuation
    if (continuation.to !== '/device' || continuation.consentIn !== signedIn.session.id || shown === undefined) {
      throw new PageError(400, 'error.stale')
    }
    const found = await parts.store.deviceCodes.find(userCodeHash(String(continuation.request.user_code)))
    const texts = textsFor(parts, request)
    if (found === undefined) throw new PageError(400, 'device.unknown')
    if (parameters.get('decision') === 'allow') {
      await approve(parts, request, found, { ...signedIn, shown })
      return sendPage(parts, reply, texts, messagePage(texts, 'device.done'))
    }
    await deny(parts, request, found, signedIn)
    return sendPage(parts, reply, texts, messagePage(texts, 'device.denied'))
  }
}

async function approve(
  parts: Parts,
  request: FastifyRequest,
  found: DeviceRequest,
  { shown, ...signedIn }: SignedIn & { readonly shown: Access },
): Promise<void> {
  const client = await parts.clients.find(found.clientId)
  const permitted = client === undefined ? [] : permittedScopes(found.scopes, client, signedIn.user)
  const scopes = permitted.filter((scope) => shown.scopes.includes(scope))
  if (client === undefined || nothingLeft(found.scopes, scopes)) throw new PageError(400, 'error.stale')
  await decide(parts, request, found, signedIn, grantOf(parts, { ...found, scopes }, signedIn))
}

function deny(parts: Parts, request: FastifyRequest, found: DeviceRequest, signedIn: SignedIn): Promise<void> {
  return decide(parts, request, found, signedIn, undefined)
}

async function decide(
  parts: Parts,
  request: FastifyRequest,
  found: DeviceRequest,
  signedIn: SignedIn,
  grant: GrantRecord | undefined,
): Promise<void> {
  const { session, user } = signedIn
  if (!(await parts.store.deviceCodes.decide(found.hash, session.id, grant, parts.clock.now()))) {
    throw new PageError(400, 'device.unknown')
  }
  const details = { scopes: grant?.scopes ?? found.scopes, address: found.address }
  const facts = { actor: user.id, subject: user.id, clientId: found.clientId, details }
  await audit(parts, request, grant === undefined ? 'device_denied' : 'device_approved', facts)
}

type SignedIn = NonNullable<Browser['signedIn']>

async function readSignedIn(
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ browser: Browser; signedIn: SignedIn }> {
  const browser = await readBrowser(parts, request, reply)
  checkForm(parts, request, browser, pageParameters(request))
  if (browser.signedIn === undefined) throw new PageError(400, 'error.stale')
  return { browser, signedIn: browser.signedIn }
}

function claim({ store, clock }: Parts, code: string, { session }: SignedIn): Promise<DeviceRequest | undefined> {
  return store.deviceCodes.claim(userCodeHash(code), session.id, clock.now())
}

function grantOf(parts: Parts, found: DeviceRequest, { session, user }: SignedIn): GrantRecord {
  return {
    id: randomUUIDv7(),
    userId: user.id,
    clientId: found.clientId,
    sessionId: undefined,
    scopes: found.scopes,
    resources: grantResources(parts, found.scopes, found.resources),
    claims: { userinfo: [], idToken: [] },
    authTime: session.authTime,
    amr: session.amr,
    userAgent: found.userAgent,
    createdAt: parts.clock.now(),
    expiresAt: found.expiresAt + longestAccessTokenMs,
    revokedAt: undefined,
  }
}
