import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthorizeContext } from '../context/features.ts'
import type { Client } from '../model/client.ts'
import { strictestPolicy } from '../model/factors/second-factor.ts'
import type { PushedSignIn } from '../model/grants/pushed-request.ts'
import { type AuthorizationRequest, type Destination, parseRequest } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { readIdTokenHint } from '../oauth/id-token-hint.ts'
import { findOrganization, notMember, type OrganizationChoice } from '../oauth/organization.ts'
import { Parameters } from '../oauth/parameters.ts'
import { leavesNoAccess } from '../oauth/scope.ts'
import { type Browser, findPolicy } from '../sessions/browser.ts'
import type { Continuation } from '../sessions/continuation.ts'
import { limitToRoles, readAccess } from './access.ts'
import { chooseNextStep, type NextStep } from './next-step.ts'

/** An authorization request in progress, across the pages that it needs. */
export interface AuthorizationTransaction {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly browser: Browser
  readonly client: Client
  readonly parameters: Parameters
  /** Set when the authenticated client pushed the request. */
  readonly pushed: PushedSignIn | undefined
  /** When it was sent to a sign-in or consent page, in Unix milliseconds. */
  readonly waitingSince: number | undefined
}

/** Finds the client of a request. @throws OAuthError `invalid_request` */
export async function findClient(context: AuthorizeContext, parameters: Parameters): Promise<Client> {
  const client = await context.clients.find(parameters.getRequired('client_id'))
  if (client === undefined) throw new OAuthError('invalid_request', 'client_id is unknown')
  return client
}

/** Resumes a request from the page that it was sealed in. */
export async function resumeTransaction(
  context: AuthorizeContext,
  transaction: Pick<AuthorizationTransaction, 'request' | 'reply' | 'browser'>,
  { request, pushed, startedAt }: Continuation,
): Promise<AuthorizationTransaction> {
  const parameters = new Parameters(request)
  return { ...transaction, client: await findClient(context, parameters), parameters, pushed, waitingSince: startedAt }
}

/** A valid request, limited to what the user may allow, with the next step on the way to its code. */
export interface ReadRequest {
  readonly authorization: AuthorizationRequest
  readonly next: NextStep
  /** The organization that it is for; undefined before the sign-in. */
  readonly choice: OrganizationChoice | undefined
}

/**
 * Parses the request, limits it to what the signed-in user may allow, and chooses the next step. @throws OAuthError,
 * reported by redirect
 */
export async function readNextStep(
  context: AuthorizeContext,
  transaction: AuthorizationTransaction,
  destination: Destination,
): Promise<ReadRequest> {
  requirePushedRequest(transaction)
  const { signedIn } = transaction.browser
  const read = parseRequest(destination, transaction.parameters, context)
  const choice = signedIn && (await findOrganization(context, read, signedIn.user))
  const authorization = signedIn === undefined ? read : await limitToRoles(context, read, signedIn.user, choice)
  const hint =
    authorization.idTokenHint === undefined ? undefined : await readIdTokenHint(context, authorization.idTokenHint)
  if (authorization.idTokenHint !== undefined && hint === undefined && authorization.prompts.has('none')) {
    throw new OAuthError('login_required', 'the key of id_token_hint is not known any more: the user must sign in')
  }
  const next = chooseNextStep({
    request: authorization,
    access: readAccess(context, authorization),
    signedIn,
    isOrganizationOpen: choice?.kind === 'open',
    consents: signedIn === undefined ? [] : await context.store.consents.find(signedIn.user.id, transaction.client.id),
    hintedSubject: hint?.subject,
    waitingSince: transaction.waitingSince,
    policy: strictestPolicy([
      transaction.client.mfa,
      signedIn === undefined ? context.mfa : await findPolicy(context, signedIn.user.id),
    ]),
    now: context.clock.now(),
  })
  if (next === 'login' || next === 'factor' || next === 'enrol') return { authorization, next, choice }
  if (choice?.kind === 'denied') throw notMember()
  if (next !== 'organization' && leavesNoAccess(read.scopes, authorization.scopes)) {
    throw new OAuthError('access_denied', "the user's roles allow none of the requested scopes")
  }
  return { authorization, next, choice }
}

function requirePushedRequest({ client, parameters, pushed }: AuthorizationTransaction): void {
  if (parameters.get('request_uri') !== undefined) {
    throw new OAuthError('request_uri_not_supported', 'request_uri must be that of a pushed authorization request')
  }
  if (client.requirePushedRequests && pushed === undefined) {
    throw new OAuthError('invalid_request', 'this client must push its authorization requests (RFC 9126)')
  }
}
