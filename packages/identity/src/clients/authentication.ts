import type { FastifyRequest } from 'fastify'
import type { AttemptLimitName } from '../config/attempt-limits.ts'
import type { ClientAuthenticationContext } from '../context/context.ts'
import { type Client, hasSecret } from '../model/client.ts'
import { OAuthError } from '../oauth/error.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { clientIdOf } from './assertion.ts'
import type { AuthenticationFault } from './authentication-fault.ts'
import { type Credentials, invalidClient, readCredentials } from './credentials.ts'
import { reportFailedAuthentication } from './failure-report.ts'
import { tooManyRequests } from './limits.ts'

const maxClientIdLength = 255

/**
 * Authenticates the client of a request by its registered method (RFC 6749 §2.3). Which check failed is logged and
 * audited only: in the response it would help an attacker. Failures are counted by client and address, and by address
 * alone; past the limit no credentials from there are verified, except those of clients that authenticated from there
 * recently.
 * @throws OAuthError `invalid_client`, `invalid_request`; `temporarily_unavailable` (429) past the limit
 */
export async function authenticateClient(
  context: ClientAuthenticationContext,
  request: FastifyRequest,
  parameters: Parameters,
): Promise<Client> {
  let id: string | undefined
  try {
    const credentials = readCredentials(request.headers.authorization, parameters)
    id =
      credentials.clientId ?? (credentials.method === 'private_key_jwt' ? clientIdOf(credentials.assertion) : undefined)
    const client = id === undefined ? undefined : await context.clients.find(id)
    const refuse = async (fault: AuthenticationFault): Promise<never> => {
      await reportFailedAuthentication(context, request, { clientId: client?.id, method: credentials.method, fault })
      throw invalidClient('client authentication failed', credentials.method)
    }
    if (client === undefined)
      return await refuse({ check: 'client', detail: `no client "${id?.slice(0, 128) ?? ''}" is registered` })
    const isSecretless = credentials.method === 'none' && client.authMethods.includes('none')
    // A client without a secret has nothing to guess.
    if (isSecretless) return used(context, client)
    await requireUnblocked(context, client.id, request.ip)
    const fault = await findFault(context, request, credentials, client)
    if (fault !== undefined) return await refuse(fault)
    context.recentAuthentications.add(client.id, request.ip)
    return used(context, client)
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_client') await recordFailure(context, id, request.ip)
    throw error
  }
}

function used({ lastUses }: ClientAuthenticationContext, client: Client): Client {
  lastUses.add('client', client.id)
  return client
}

/** Why the credentials do not authenticate the client; undefined when they do. */
async function findFault(
  context: ClientAuthenticationContext,
  request: FastifyRequest,
  credentials: Credentials,
  client: Client,
): Promise<AuthenticationFault | undefined> {
  const { method } = credentials
  if (!client.authMethods.includes(method)) {
    return { check: 'method', detail: `${method} was used, expected ${client.authMethods.join(' or ')}` }
  }
  if (method === 'none') return undefined
  if (method === 'private_key_jwt') {
    const { issuer, store } = context
    const place = { issuer, endpoint: `${issuer}${request.routeOptions.url ?? ''}`, store }
    return context.assertions.verify(place, client, credentials.assertion)
  }
  return hasSecret(client, credentials.secret, context.clock.now())
    ? undefined
    : { check: 'secret', detail: 'the client secret is wrong' }
}

type Check = readonly [AttemptLimitName, Readonly<Record<string, string>>]

/** The limits that a failure counts against. A client that is known at the address has a count of its own there. */
function limitsFor(
  { recentAuthentications }: ClientAuthenticationContext,
  id: string | undefined,
  address: string,
): Check[] {
  const named = id !== undefined && id.length <= maxClientIdLength
  const byClient: Check[] = named ? [['client-authentication', { client: id, address }]] : []
  if (named && recentAuthentications.has(id, address)) return byClient
  return [...byClient, ['client-authentication-address', { address }]]
}

async function requireUnblocked(context: ClientAuthenticationContext, id: string, address: string): Promise<void> {
  const waits = await Promise.all(limitsFor(context, id, address).map((check) => context.blocked(...check)))
  const seconds = Math.max(...waits)
  if (seconds > 0) throw tooManyFailures(seconds)
}

/** @throws OAuthError 429 past the limit: then also what is wrong is no answer any more */
async function recordFailure(
  context: ClientAuthenticationContext,
  id: string | undefined,
  address: string,
): Promise<void> {
  const decisions = await Promise.all(limitsFor(context, id, address).map((check) => context.limit(...check)))
  const refused = decisions.filter(({ allowed }) => !allowed)
  if (refused.length === 0) return
  throw tooManyFailures(Math.max(...refused.map(({ retryAfter = 1 }) => retryAfter)))
}

const tooManyFailures = (seconds: number): OAuthError =>
  tooManyRequests('too many failed client authentications from this address', seconds)
