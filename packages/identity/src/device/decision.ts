import { randomUUIDv7 } from 'node:crypto'
import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { DevicePageContext } from '../context/features.ts'
import { pageParameters } from '../http/page-route.ts'
import { createAccessNotices } from '../mail/access-notices.ts'
import type { Client } from '../model/client.ts'
import { chooseFactorStep, type FactorStep, strictestPolicy } from '../model/factors/second-factor.ts'
import type { Access } from '../model/grants/consent.ts'
import type { GrantRecord } from '../model/grants/grant.ts'
import { maxAccessTokenMs } from '../model/grants/revocation-times.ts'
import { findOrganization, permissionsOf } from '../oauth/organization.ts'
import { grantResources } from '../oauth/resource.ts'
import { findPermittedScopes, leavesNoAccess } from '../oauth/scope.ts'
import { messagePage } from '../pages/error-page.ts'
import { PageError } from '../pages/page-error.ts'
import { type Browser, checkForm, findPolicy, readBrowser } from '../sessions/browser.ts'
import { openContinuation } from '../sessions/continuation.ts'
import { recentSignInMs } from '../sessions/recent-sign-in.ts'
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
    const { shown, organization } = continuation
    if (continuation.to !== '/device' || continuation.consentIn !== signedIn.session.id || shown === undefined) {
      throw new PageError(400, 'error.stale')
    }
    const deviceRequest = await context.store.deviceCodes.find(userCodeHash(String(continuation.request.user_code)))
    const texts = textsFor(context, request)
    if (deviceRequest === undefined) throw new PageError(400, 'device.unknown')
    if (parameters.get('decision') === 'allow') {
      await approveRequest(context, request, deviceRequest, { ...signedIn, shown, organization })
      return sendPage(context, reply, texts, messagePage(texts, 'device.done'))
    }
    await denyRequest(context, request, deviceRequest, signedIn)
    return sendPage(context, reply, texts, messagePage(texts, 'device.denied'))
  }
}

/** What the page showed that the user allowed. */
interface Shown {
  readonly shown: Access
  readonly organization: string | undefined
}

/** Approves the part of the shown access that is still permitted, for the organization that the page named. */
async function approveRequest(
  context: DevicePageContext,
  request: FastifyRequest,
  deviceRequest: DeviceRequest,
  { shown, organization, ...signedIn }: SignedIn & Shown,
): Promise<void> {
  const client = await context.clients.find(deviceRequest.clientId)
  if (client === undefined) throw new PageError(400, 'error.stale')
  const named = deviceRequest.organizationId ?? organization
  const choice = await findOrganization(context, { client, organization: named }, signedIn.user)
  const current = choice.kind === 'member' ? choice.membership.organization.id : undefined
  if (choice.kind === 'denied' || choice.kind === 'open' || current !== organization)
    throw new PageError(400, 'error.stale')
  const holder = { client, user: signedIn.user, permissions: permissionsOf(choice) }
  const permitted = await findPermittedScopes(context, deviceRequest.scopes, holder)
  const scopes = permitted.filter((scope) => shown.scopes.includes(scope))
  if (leavesNoAccess(deviceRequest.scopes, scopes)) throw new PageError(400, 'error.stale')
  if ((await findMissingFactor(context, client, signedIn)) !== undefined) throw new PageError(400, 'error.stale')
  const grant = createGrant(context, { ...deviceRequest, scopes, organizationId: organization }, signedIn)
  const notices = await createAccessNotices(context, request, { user: signedIn.user, client, scopes })
  await recordDecision(context, request, deviceRequest, { ...signedIn, grant, notices })
}

/** What the client requires of the sign-in and the session lacks; a first factor only after a recent sign-in. */
export async function findMissingFactor(
  context: DevicePageContext,
  client: Client,
  { session, user, factors }: SignedIn,
): Promise<FactorStep | 'login' | undefined> {
  const policy = strictestPolicy([client.mfa, await findPolicy(context, user.id)])
  const step = chooseFactorStep({ amr: session.amr, remembered: session.remembered, factors, policy })
  return step === 'enrol' && context.clock.now() - session.authTime > recentSignInMs ? 'login' : step
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
  const details = {
    scopes: grant?.scopes ?? deviceRequest.scopes,
    address: deviceRequest.address,
    ...(grant?.organizationId !== undefined && { organization: grant.organizationId }),
  }
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
    organizationId: deviceRequest.organizationId,
    scopes: deviceRequest.scopes,
    resources: grantResources(context, deviceRequest.scopes, deviceRequest.resources),
    claims: { userinfo: [], idToken: [] },
    authTime: session.authTime,
    amr: session.amr,
    remembered: session.remembered,
    userAgent: deviceRequest.userAgent,
    createdAt: context.clock.now(),
    expiresAt: deviceRequest.expiresAt + maxAccessTokenMs,
    revokedAt: undefined,
  }
}
