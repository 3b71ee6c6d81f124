import { randomUUIDv7 } from 'node:crypto'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { DevicePageContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createAccessNotices } from '../mail/access-notices.ts'
import type { Access } from '../model/consent.ts'
import type { GrantRecord } from '../model/grant.ts'
import { maxAccessTokenMs } from '../model/revocation-times.ts'
import { grantResources } from '../oauth/resource.ts'
import { filterPermittedScopes, leavesNoAccess } from '../oauth/scope.ts'
import { messagePage } from '../pages/error-page.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import type { DeviceRequest, OutboxMessage } from '../store/index.ts'
import { userCodeHash } from './user-code.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/**
 * POST /device/decision: the decision of the session that entered the code, made on the page that was shown to it, about
 * the access that the page showed.
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

/** Approves the part of the shown access that is still permitted. */
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
  const grant = createGrant(context, { ...deviceRequest, scopes }, signedIn)
  const notices = await createAccessNotices(context, request, { user: signedIn.user, client, scopes })
  await recordDecision(context, request, deviceRequest, { ...signedIn, grant, notices })
}

/** Denies the request. @throws PageError 400 when it was decided already */
export function denyRequest(
  context: DevicePageContext,
  request: FastifyRequest,
  deviceRequest: DeviceRequest,
  signedIn: SignedIn,
): Promise<void> {
  return recordDecision(context, request, deviceRequest, { ...signedIn, grant: undefined, notices: [] })
}

interface Decision {
  readonly grant: GrantRecord | undefined
  readonly notices: readonly OutboxMessage[]
}

async function recordDecision(
  context: DevicePageContext,
  request: FastifyRequest,
  deviceRequest: DeviceRequest,
  { session, user, grant, notices }: SignedIn & Decision,
): Promise<void> {
  const decision = { hash: deviceRequest.hash, sessionId: session.id, grant, messages: notices }
  if (!(await context.store.deviceCodes.decide(decision, context.clock.now()))) {
    throw new PageError(400, 'device.unknown')
  }
  if (notices.length > 0) context.signalOutbox()
  const details = { scopes: grant?.scopes ?? deviceRequest.scopes, address: deviceRequest.address }
  const facts = { actor: user.id, subject: user.id, clientId: deviceRequest.clientId, details }
  await audit(context, request, grant === undefined ? 'device_denied' : 'device_approved', facts)
}

/** The session that decides, and its user. */
export type SignedIn = NonNullable<Browser['signedIn']>

/** Reads the browser of a form. @throws PageError 403 for a foreign form, 400 without a signed-in user */
export async function readSignedIn(
  context: DevicePageContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ browser: Browser; signedIn: SignedIn }> {
  const browser = await readBrowser(context, request, reply)
  checkForm(context, request, browser, pageParameters(request))
  if (browser.signedIn === undefined) throw new PageError(400, 'error.stale')
  return { browser, signedIn: browser.signedIn }
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
