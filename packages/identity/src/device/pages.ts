import { randomUUIDv7 } from 'node:crypto'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import { enforceLimits } from '../config/attempt-limits.ts'
import type { DevicePageContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { type Access, withoutOwnApi } from '../model/consent.ts'
import type { GrantRecord } from '../model/grant.ts'
import { maxAccessTokenMs } from '../model/revocation-times.ts'
import { grantResources, listApis } from '../oauth/resource.ts'
import { filterPermittedScopes, leavesNoAccess } from '../oauth/scope.ts'
import { deviceConfirmPage, devicePage } from '../pages/device-pages.ts'
import { messagePage } from '../pages/error-page.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, formToken, readBrowser } from '../sessions/browser.ts'
import { openContinuation, sealContinuation } from '../sessions/continuation.ts'
import { requireSignIn } from '../sessions/require-sign-in.ts'
import type { DeviceRequest } from '../store/index.ts'
import { readUserCode, userCodeHash } from './user-code.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** GET /device: where a user types the code. A code in the address is filled in, never sent by itself. */
export function devicePageEndpoint(context: DevicePageContext): Handler {
  return async (request, reply) => {
    const browser = await readBrowser(context, request, reply)
    const parameters = pageParameters(request)
    const sealed = parameters.get('continuation')
    const form = sealed === undefined ? parameters.form : openContinuation(context, browser, sealed).request
    if (browser.signedIn === undefined) {
      const code = readUserCode(parameters.get('user_code'))
      return requireSignIn(context, request, reply, browser, '/device', code === undefined ? {} : { user_code: code })
    }
    const texts = textsFor(context, request)
    const code = readUserCode(typeof form.user_code === 'string' ? form.user_code : undefined)
    return sendPage(context, reply, texts, devicePage(texts, { formToken: formToken(context, browser), code }))
  }
}

/** POST /device: takes the code, binds it to this session and asks. Attempts are counted. */
export function deviceCodeEndpoint(context: DevicePageContext): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const { browser, signedIn } = await readSignedIn(context, request, reply)
    const typed = parameters.get('user_code')
    const texts = textsFor(context, request)
    const refuse = (text: string, status: number, values: Record<string, string> = {}) => {
      const page = { formToken: formToken(context, browser), code: typed?.slice(0, 20), status }
      return sendPage(context, reply, texts, devicePage(texts, { ...page, wrong: texts.say(text, values) }))
    }
    try {
      await enforceLimits(context.limit, [
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
    const deviceRequest = code && (await claimRequest(context, code, signedIn))
    const client = deviceRequest && (await context.clients.find(deviceRequest.clientId))
    if (!code || !deviceRequest || !client) return refuse('device.unknown', 400)
    const scopes = filterPermittedScopes(deviceRequest.scopes, client, signedIn.user)
    if (leavesNoAccess(deviceRequest.scopes, scopes)) {
      await denyRequest(context, request, deviceRequest, signedIn)
      return sendPage(context, reply, texts, messagePage(texts, 'device.powerless'))
    }
    const shown = { scopes, resources: listApis(context, scopes, deviceRequest.resources), claims: [] }
    const page = deviceConfirmPage(texts, {
      formToken: formToken(context, browser),
      continuation: sealDecision(context, browser, signedIn, { code, shown }),
      code,
      client: client.name,
      user: signedIn.user.email ?? signedIn.user.username,
      access: withoutOwnApi(context, shown),
      address: deviceRequest.address,
      userAgent: deviceRequest.userAgent,
    })
    return sendPage(context, reply, texts, page)
  }
}

function sealDecision(
  context: DevicePageContext,
  browser: Browser,
  { session }: SignedIn,
  { code, shown }: { readonly code: string; readonly shown: Access },
): string {
  return sealContinuation(context, browser, {
    to: '/device',
    request: { user_code: code },
    startedAt: context.clock.now(),
    consentIn: session.id,
    shown,
  })
}

/**
 * POST /device/decision: what the session that entered the code decided on the page that asked it, and on no other,
 * about the scopes which that page named.
 */
export function deviceDecisionEndpoint(context: DevicePageContext): Handler {
  return async (request, reply) => {
    const parameters = pageParameters(request)
    const { browser, signedIn } = await readSignedIn(context, request, reply)
    const continuation = openContinuation(context, browser, parameters.get('continuation'))
    const { shown } = continuation
    if (continuation.to !== '/device' || continuation.consentIn !== signedIn.session.id || shown === undefined) {
      throw new PageError(400, 'error.stale')
    }
    const deviceRequest = await context.store.deviceCodes.find(userCodeHash(String(continuation.request.user_code)))
    const texts = textsFor(context, request)
    if (deviceRequest === undefined) throw new PageError(400, 'device.unknown')
    if (parameters.get('decision') === 'allow') {
      await approveRequest(context, request, deviceRequest, { ...signedIn, shown })
      return sendPage(context, reply, texts, messagePage(texts, 'device.done'))
    }
    await denyRequest(context, request, deviceRequest, signedIn)
    return sendPage(context, reply, texts, messagePage(texts, 'device.denied'))
  }
}

async function approveRequest(
  context: DevicePageContext,
  request: FastifyRequest,
  deviceRequest: DeviceRequest,
  { shown, ...signedIn }: SignedIn & { readonly shown: Access },
): Promise<void> {
  const client = await context.clients.find(deviceRequest.clientId)
  const permitted = client === undefined ? [] : filterPermittedScopes(deviceRequest.scopes, client, signedIn.user)
  const scopes = permitted.filter((scope) => shown.scopes.includes(scope))
  if (client === undefined || leavesNoAccess(deviceRequest.scopes, scopes)) throw new PageError(400, 'error.stale')
  await recordDecision(
    context,
    request,
    deviceRequest,
    signedIn,
    createGrant(context, { ...deviceRequest, scopes }, signedIn),
  )
}

function denyRequest(
  context: DevicePageContext,
  request: FastifyRequest,
  deviceRequest: DeviceRequest,
  signedIn: SignedIn,
): Promise<void> {
  return recordDecision(context, request, deviceRequest, signedIn, undefined)
}

async function recordDecision(
  context: DevicePageContext,
  request: FastifyRequest,
  deviceRequest: DeviceRequest,
  signedIn: SignedIn,
  grant: GrantRecord | undefined,
): Promise<void> {
  const { session, user } = signedIn
  if (!(await context.store.deviceCodes.decide(deviceRequest.hash, session.id, grant, context.clock.now()))) {
    throw new PageError(400, 'device.unknown')
  }
  const details = { scopes: grant?.scopes ?? deviceRequest.scopes, address: deviceRequest.address }
  const facts = { actor: user.id, subject: user.id, clientId: deviceRequest.clientId, details }
  await audit(context, request, grant === undefined ? 'device_denied' : 'device_approved', facts)
}

type SignedIn = NonNullable<Browser['signedIn']>

async function readSignedIn(
  context: DevicePageContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ browser: Browser; signedIn: SignedIn }> {
  const browser = await readBrowser(context, request, reply)
  checkForm(context, request, browser, pageParameters(request))
  if (browser.signedIn === undefined) throw new PageError(400, 'error.stale')
  return { browser, signedIn: browser.signedIn }
}

function claimRequest(
  { store, clock }: DevicePageContext,
  code: string,
  { session }: SignedIn,
): Promise<DeviceRequest | undefined> {
  return store.deviceCodes.claim(userCodeHash(code), session.id, clock.now())
}

function createGrant(
  context: DevicePageContext,
  deviceRequest: DeviceRequest,
  { session, user }: SignedIn,
): GrantRecord {
  return {
    id: randomUUIDv7(),
    userId: user.id,
    clientId: deviceRequest.clientId,
    sessionId: undefined,
    scopes: deviceRequest.scopes,
    resources: grantResources(context, deviceRequest.scopes, deviceRequest.resources),
    claims: { userinfo: [], idToken: [] },
    authTime: session.authTime,
    amr: session.amr,
    userAgent: deviceRequest.userAgent,
    createdAt: context.clock.now(),
    expiresAt: deviceRequest.expiresAt + maxAccessTokenMs,
    revokedAt: undefined,
  }
}
