import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Parts } from '../context/context.ts'
import type { Client } from '../model/client.ts'
import { type AuthorizationRequest, type Destination, readRequest } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { readIdTokenHint } from '../oauth/id-token-hint.ts'
import { Parameters } from '../oauth/parameters.ts'
import { nothingLeft } from '../oauth/scope.ts'
import type { Browser } from '../sessions/browser.ts'
import type { Continuation } from '../sessions/continuation.ts'
import { accessOf, permittedTo } from './access.ts'
import { decide, type Next } from './next-step.ts'

/** An authorization request on its way, from page to page. */
export interface Proceeding {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly browser: Browser
  readonly client: Client
  readonly parameters: Parameters
  /** Whether it was pushed beforehand by its authenticated client (RFC 9126). */
  readonly pushed: boolean
  /** When it was sent off to a login or a question, in Unix milliseconds. */
  readonly waitingSince: number | undefined
}

export async function clientOf(parts: Parts, parameters: Parameters): Promise<Client> {
  const client = await parts.clients.find(parameters.required('client_id'))
  if (client === undefined) throw new OAuthError('invalid_request', 'client_id is not known here')
  return client
}

/** The request as the page it comes back from was shown for. */
export async function resumed(
  parts: Parts,
  at: Pick<Proceeding, 'request' | 'reply' | 'browser'>,
  { request, pushed = false, startedAt }: Continuation,
): Promise<Proceeding> {
  const parameters = new Parameters(request)
  return { ...at, client: await clientOf(parts, parameters), parameters, pushed, waitingSince: startedAt }
}

/** Reads the request, as far as the user who is signed in may allow it, and decides what comes next. @throws OAuthError to be told by redirect */
export async function nextOf(
  parts: Parts,
  at: Proceeding,
  destination: Destination,
): Promise<{ readonly asked: AuthorizationRequest; readonly next: Next }> {
  refuseUnpushed(at)
  const { signedIn } = at.browser
  const read = readRequest(destination, at.parameters, parts)
  const asked = signedIn === undefined ? read : permittedTo(parts, read, signedIn.user)
  const hint = asked.idTokenHint === undefined ? undefined : await readIdTokenHint(parts, asked.idTokenHint)
  if (asked.idTokenHint !== undefined && hint === undefined) {
    throw new OAuthError('invalid_request', 'id_token_hint is not an ID token of this server')
  }
  const next = decide({
    request: asked,
    access: accessOf(parts, asked),
    signedIn,
    consents: signedIn === undefined ? [] : await parts.store.consents.find(signedIn.user.id, at.client.id),
    hintedSubject: hint?.subject,
    waitingSince: at.waitingSince,
    now: parts.clock.now(),
  })
  if (next !== 'login' && nothingLeft(read.scopes, asked.scopes)) {
    throw new OAuthError('access_denied', "the user's roles allow none of the scopes asked for")
  }
  return { asked, next }
}

function refuseUnpushed({ client, parameters, pushed }: Proceeding): void {
  if (parameters.get('request_uri') !== undefined) {
    throw new OAuthError('request_uri_not_supported', 'only request_uri values of pushed requests are supported')
  }
  if (client.requirePushedRequests && !pushed) {
    throw new OAuthError('invalid_request', 'this client must push its requests (RFC 9126)')
  }
}
